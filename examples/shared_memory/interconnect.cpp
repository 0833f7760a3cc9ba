// SPDX-License-Identifier: Apache-2.0
#include "interconnect.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace bus {
namespace {

// Events of targets and hops, at the time at which they take effect.
DECLARE_EXTENDED_PHASE(request_accepted);
DECLARE_EXTENDED_PHASE(response_begun);      // END_RESP is to follow
DECLARE_EXTENDED_PHASE(response_completed);  // none is
DECLARE_EXTENDED_PHASE(response_arrived);    // back at the initiator's side

std::vector<Window> checked(std::vector<Window> map) {
  std::sort(map.begin(), map.end(),
            [](const Window& x, const Window& y) { return x.begin < y.begin; });
  for (std::size_t i = 1; i < map.size(); ++i) {
    if (map[i - 1].begin + map[i - 1].bytes <= map[i].begin) continue;
    throw std::invalid_argument("bus::Interconnect: the windows at " +
                                std::to_string(map[i - 1].begin) + " and " +
                                std::to_string(map[i].begin) + " overlap");
  }
  return map;
}

sc_core::sc_time checked_hop(double ns) {
  if (ns >= 0) return {ns, sc_core::SC_NS};
  throw std::invalid_argument("bus::Interconnect: hop_ns " + std::to_string(ns) + " is below 0");
}

}  // namespace

Interconnect::Interconnect(const sc_core::sc_module_name& name, std::vector<Window> map,
                           double hop_ns)
    : sc_module(name),
      map_(checked(std::move(map))),
      hop_(checked_hop(hop_ns)),
      agenda_(this, &Interconnect::step) {
  initiators.register_nb_transport_fw(this, &Interconnect::nb_transport_fw);
  initiators.register_b_transport(this, &Interconnect::b_transport);
  initiators.register_transport_dbg(this, &Interconnect::transport_dbg);
  initiators.register_get_direct_mem_ptr(this, &Interconnect::get_direct_mem_ptr);
  targets.register_nb_transport_bw(this, &Interconnect::nb_transport_bw);
  sc_core::sc_spawn_options options;
  options.spawn_method();
  options.dont_initialize();
  options.set_sensitivity(&arbitrate_event_);
  sc_core::sc_spawn([this] { arbitrate(); }, "arbitrate", &options);
}

void Interconnect::end_of_elaboration() {
  initiators_.resize(initiators.size());
  statistics_.resize(initiators.size());
  targets_.resize(targets.size());
  // The first turn is that of initiator 0.
  for (Target& target : targets_)
    target.last_initiator = static_cast<unsigned>(initiators.size()) - 1;
}

tlm::tlm_sync_enum Interconnect::nb_transport_fw(int initiator, tlm::tlm_generic_payload& payload,
                                                 tlm::tlm_phase& phase, sc_core::sc_time& delay) {
  if (phase == tlm::BEGIN_REQ) {
    payload.acquire();
    routes_.push_back({&payload, static_cast<unsigned>(initiator), 0, 0, false, {}});
    agenda_.notify(payload, phase, delay + hop_);
  } else if (phase == tlm::END_RESP) {
    agenda_.notify(payload, phase, delay);
  }
  return tlm::TLM_ACCEPTED;
}

tlm::tlm_sync_enum Interconnect::nb_transport_bw(int, tlm::tlm_generic_payload& payload,
                                                 tlm::tlm_phase& phase, sc_core::sc_time& delay) {
  if (phase == tlm::END_REQ) agenda_.notify(payload, request_accepted, delay);
  if (phase == tlm::BEGIN_RESP) agenda_.notify(payload, response_begun, delay);
  return tlm::TLM_ACCEPTED;
}

void Interconnect::step(tlm::tlm_generic_payload& payload, const tlm::tlm_phase& phase) {
  if (phase == tlm::END_RESP) return end_response(payload);
  Route& route = route_of(payload);
  if (phase == tlm::BEGIN_REQ) {
    arrive(route);
  } else if (phase == request_accepted) {
    on_accepted(route);
  } else if (phase == response_begun) {
    tlm::tlm_phase end = tlm::END_RESP;
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    targets[static_cast<int>(route.target)]->nb_transport_fw(payload, end, delay);
    on_response(route);
  } else if (phase == response_completed) {
    on_response(route);
  } else if (phase == response_arrived) {
    Initiator& initiator = initiators_[route.initiator];
    route.since = sc_core::sc_time_stamp();
    initiator.responses.push_back(&payload);
    if (!initiator.responding) begin_response(route.initiator);
  }
}

void Interconnect::arrive(Route& route) {
  Statistics& statistics = statistics_[route.initiator];
  ++statistics.requests;
  statistics.bytes += route.payload->get_data_length();
  route.since = sc_core::sc_time_stamp();
  const std::uint64_t address = route.payload->get_address();
  const Window* window = decode(address, route.payload->get_data_length());
  if (window == nullptr) {
    route.payload->set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    on_response(route);
    return;
  }
  route.target = window->target;
  route.target_address = window->target_begin + (address - window->begin);
  targets_[route.target].waiting.push_back(route.payload);
  arbitrate_event_.notify(sc_core::SC_ZERO_TIME);
}

void Interconnect::arbitrate() {
  for (Target& target : targets_) {
    while (target.requesting == nullptr && !target.waiting.empty()) forward(target);
  }
}

void Interconnect::forward(Target& target) {
  // The next waiting initiator after the last one, in turn.
  const auto count = static_cast<unsigned>(initiators_.size());
  const auto turn = [&](const tlm::tlm_generic_payload* payload) {
    return (route_of(*payload).initiator + count - target.last_initiator - 1) % count;
  };
  const auto next =
      std::min_element(target.waiting.begin(), target.waiting.end(),
                       [&](const auto* x, const auto* y) { return turn(x) < turn(y); });
  tlm::tlm_generic_payload& payload = **next;
  target.waiting.erase(next);
  target.requesting = &payload;
  Route& route = route_of(payload);
  target.last_initiator = route.initiator;
  statistics_[route.initiator].arbitration_wait += sc_core::sc_time_stamp() - route.since;
  route.since = sc_core::sc_time_stamp();
  payload.set_address(route.target_address);
  tlm::tlm_phase phase = tlm::BEGIN_REQ;
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  switch (targets[static_cast<int>(route.target)]->nb_transport_fw(payload, phase, delay)) {
    case tlm::TLM_ACCEPTED:
      break;
    case tlm::TLM_UPDATED:
      agenda_.notify(payload, phase == tlm::END_REQ ? request_accepted : response_begun, delay);
      break;
    case tlm::TLM_COMPLETED:
      agenda_.notify(payload, response_completed, delay);
      break;
  }
}

void Interconnect::on_accepted(Route& route) {
  if (route.accepted) return;
  route.accepted = true;
  statistics_[route.initiator].target_wait += sc_core::sc_time_stamp() - route.since;
  Target& target = targets_[route.target];
  if (target.requesting == route.payload) {
    target.requesting = nullptr;
    arbitrate_event_.notify(sc_core::SC_ZERO_TIME);
  }
  tlm::tlm_phase phase = tlm::END_REQ;
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  initiators[static_cast<int>(route.initiator)]->nb_transport_bw(*route.payload, phase, delay);
}

void Interconnect::on_response(Route& route) {
  on_accepted(route);  // a response implies an END_REQ that has not come
  agenda_.notify(*route.payload, response_arrived, hop_);
}

void Interconnect::begin_response(unsigned number) {
  Initiator& initiator = initiators_[number];
  initiator.responding = true;
  tlm::tlm_generic_payload& payload = *initiator.responses.front();
  const auto first = std::find_if(routes_.begin(), routes_.end(),
                                  [&](const Route& r) { return r.initiator == number; });
  if (first->payload != &payload) ++statistics_[number].overtakings;
  statistics_[number].response_wait += sc_core::sc_time_stamp() - route_of(payload).since;
  tlm::tlm_phase phase = tlm::BEGIN_RESP;
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  const tlm::tlm_sync_enum answer =
      initiators[static_cast<int>(number)]->nb_transport_bw(payload, phase, delay);
  // The initiator may end the response by its return value; otherwise END_RESP comes as a call.
  if (answer == tlm::TLM_COMPLETED || (answer == tlm::TLM_UPDATED && phase == tlm::END_RESP)) {
    agenda_.notify(payload, tlm::END_RESP, delay);
  }
}

void Interconnect::end_response(tlm::tlm_generic_payload& payload) {
  const auto route = std::find_if(routes_.begin(), routes_.end(),
                                  [&](const Route& r) { return r.payload == &payload; });
  const unsigned number = route->initiator;
  routes_.erase(route);
  payload.release();
  Initiator& initiator = initiators_[number];
  initiator.responses.pop_front();
  initiator.responding = false;
  if (!initiator.responses.empty()) begin_response(number);
}

void Interconnect::b_transport(int, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  const Window* window = decode(payload.get_address(), payload.get_data_length());
  if (window == nullptr) {
    payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    return;
  }
  delay += hop_;
  payload.set_address(window->target_begin + (payload.get_address() - window->begin));
  targets[static_cast<int>(window->target)]->b_transport(payload, delay);
  delay += hop_;
}

unsigned int Interconnect::transport_dbg(int, tlm::tlm_generic_payload& payload) {
  const std::uint64_t address = payload.get_address();
  const unsigned int bytes = payload.get_data_length();
  const Window* window = decode(address, 1);
  if (window == nullptr) return 0;
  const std::uint64_t offset = address - window->begin;
  payload.set_address(window->target_begin + offset);
  payload.set_data_length(
      static_cast<unsigned int>(std::min<std::uint64_t>(bytes, window->bytes - offset)));
  const unsigned int moved = targets[static_cast<int>(window->target)]->transport_dbg(payload);
  payload.set_address(address);
  payload.set_data_length(bytes);
  return moved;
}

bool Interconnect::get_direct_mem_ptr(int, tlm::tlm_generic_payload&, tlm::tlm_dmi& dmi) {
  dmi.allow_none();
  return false;
}

const Window* Interconnect::decode(std::uint64_t address, std::uint64_t bytes) const {
  for (const Window& window : map_) {
    if (address < window.begin || address - window.begin >= window.bytes) continue;
    return bytes <= window.bytes - (address - window.begin) ? &window : nullptr;
  }
  return nullptr;
}

Interconnect::Route& Interconnect::route_of(const tlm::tlm_generic_payload& payload) {
  return *std::find_if(routes_.begin(), routes_.end(),
                       [&](const Route& route) { return route.payload == &payload; });
}

}  // namespace bus
