// SPDX-License-Identifier: Apache-2.0
#include "tests/support/scripted_memory.hpp"

#include <algorithm>
#include <random>

namespace kernbench::test {

std::string_view to_string(Answer answer) {
  switch (answer) {
    case Answer::accepted:
      return "accepted";
    case Answer::nested_end_req:
      return "nested_end_req";
    case Answer::updated_end_req:
      return "updated_end_req";
    case Answer::no_end_req:
      return "no_end_req";
    case Answer::nested_begin_resp:
      return "nested_begin_resp";
    case Answer::updated_begin_resp:
      return "updated_begin_resp";
    case Answer::completed:
      return "completed";
  }
  return "";
}

ScriptedMemory::ScriptedMemory(const sc_core::sc_module_name& name, const command::ByteRange& range,
                               Script script)
    : sc_module(name), script_(std::move(script)), storage_(range) {
  KERNBENCH_HAS_PROCESS(ScriptedMemory);
  SC_METHOD(work);
  sensitive << agenda_event_;
  dont_initialize();
  socket.bind(*this);
}

tlm::tlm_sync_enum ScriptedMemory::nb_transport_fw(tlm::tlm_generic_payload& payload,
                                                   tlm::tlm_phase& phase, sc_core::sc_time& delay) {
  if (phase == tlm::BEGIN_REQ) return on_request(payload, phase, delay);
  if (phase == tlm::END_RESP) {
    if (responding_ != nullptr && responding_->payload == &payload) on_end_response();
    return tlm::TLM_COMPLETED;
  }
  return tlm::TLM_ACCEPTED;
}

tlm::tlm_sync_enum ScriptedMemory::on_request(tlm::tlm_generic_payload& payload,
                                              tlm::tlm_phase& phase, sc_core::sc_time& delay) {
  Behaviour behaviour = script_(transactions_, payload);
  // One response at a time (IEEE 1666, 15.2.6 f).
  if (responding_ != nullptr && (behaviour.answer == Answer::nested_begin_resp ||
                                 behaviour.answer == Answer::updated_begin_resp)) {
    behaviour.answer = Answer::no_end_req;
  }
  Item& item = enter(payload, behaviour);
  if (behaviour.silent) return tlm::TLM_ACCEPTED;
  if (behaviour.rewrite_address) payload.set_address(~payload.get_address());

  const std::uint64_t now = time_.now();
  switch (behaviour.answer) {
    case Answer::accepted:
      schedule(now + behaviour.accept_ps, Step::end_req, item);
      break;
    case Answer::no_end_req:
      schedule(now + behaviour.accept_ps + behaviour.response_ps, Step::begin_resp, item);
      break;
    case Answer::nested_end_req:
      schedule(now + behaviour.accept_annotated_ps + behaviour.response_ps, Step::begin_resp, item);
      send(item, tlm::END_REQ, behaviour.accept_annotated_ps);
      break;
    case Answer::updated_end_req:
      schedule(now + behaviour.accept_annotated_ps + behaviour.response_ps, Step::begin_resp, item);
      phase = tlm::END_REQ;
      delay = time_.to_sc_time(behaviour.accept_annotated_ps);
      return tlm::TLM_UPDATED;
    case Answer::nested_begin_resp:
      respond(item);
      break;
    case Answer::updated_begin_resp:
      fill_response(item);
      responding_ = &item;
      phase = tlm::BEGIN_RESP;
      delay = time_.to_sc_time(behaviour.response_annotated_ps);
      return tlm::TLM_UPDATED;
    case Answer::completed:
      fill_response(item);
      --outstanding_;
      release(item);
      delay = time_.to_sc_time(behaviour.response_annotated_ps);
      return tlm::TLM_COMPLETED;
  }
  return tlm::TLM_ACCEPTED;
}

ScriptedMemory::Item& ScriptedMemory::enter(tlm::tlm_generic_payload& payload,
                                            const Behaviour& behaviour) {
  reused_while_held_ += std::any_of(items_.begin(), items_.end(),
                                    [&](const Item& other) { return other.payload == &payload; });
  Item& item = items_.emplace_back(Item{&payload, behaviour, transactions_++, payload.get_address(),
                                        std::vector<unsigned char>(payload.get_data_length())});
  most_outstanding_ = std::max(most_outstanding_, ++outstanding_);
  payload.acquire();
  if (!behaviour.serve_late) serve(item);
  return item;
}

void ScriptedMemory::leave(Item& item) {
  --outstanding_;
  if (item.behaviour.hold_ps > 0) {
    schedule(time_.now() + item.behaviour.hold_ps, Step::release, item);
  } else {
    release(item);
  }
}

void ScriptedMemory::on_end_response() {
  Item& item = *responding_;
  responding_ = nullptr;
  leave(item);
  if (waiting_.empty()) return;
  Item& next = *waiting_.front();
  waiting_.pop_front();
  respond(next);
}

void ScriptedMemory::schedule(std::uint64_t time, Step step, Item& item) {
  const auto place = std::upper_bound(agenda_.begin(), agenda_.end(), time,
                                      [](std::uint64_t t, const Due& due) { return t < due.time; });
  agenda_.insert(place, {time, step, &item});
  agenda_event_.notify(time_.to_sc_time(time - time_.now()));
}

void ScriptedMemory::work() {
  const std::uint64_t now = time_.now();
  while (!agenda_.empty() && agenda_.front().time <= now) {
    const Due due = agenda_.front();
    agenda_.erase(agenda_.begin());
    const Behaviour& behaviour = due.item->behaviour;
    switch (due.step) {
      case Step::end_req:
        schedule(now + behaviour.accept_annotated_ps + behaviour.response_ps, Step::begin_resp,
                 *due.item);
        send(*due.item, tlm::END_REQ, behaviour.accept_annotated_ps);
        break;
      case Step::begin_resp:
        if (responding_ == nullptr) {
          respond(*due.item);
        } else {
          waiting_.push_back(due.item);
        }
        break;
      case Step::release:
        release(*due.item);
        break;
    }
  }
  if (!agenda_.empty()) agenda_event_.notify(time_.to_sc_time(agenda_.front().time - now));
}

void ScriptedMemory::respond(Item& item) {
  responding_ = &item;
  fill_response(item);
  send(item, tlm::BEGIN_RESP, item.behaviour.response_annotated_ps);
}

void ScriptedMemory::send(Item& item, tlm::tlm_phase phase, std::uint64_t delay_ps) {
  sc_core::sc_time delay = time_.to_sc_time(delay_ps);
  const tlm::tlm_sync_enum answer = socket->nb_transport_bw(*item.payload, phase, delay);
  if (answer == tlm::TLM_COMPLETED || (answer == tlm::TLM_UPDATED && phase == tlm::END_RESP)) {
    on_end_response();
  }
}

void ScriptedMemory::serve(Item& item) {
  if (item.behaviour.status != tlm::TLM_OK_RESPONSE) return;
  if (item.payload->is_write()) {
    storage_.write(item.address, item.payload->get_data_ptr(), item.data.size());
  } else {
    storage_.read(item.address, item.data.data(), item.data.size());
  }
}

void ScriptedMemory::fill_response(Item& item) {
  if (item.behaviour.serve_late) serve(item);
  if (item.payload->is_read() && item.behaviour.status == tlm::TLM_OK_RESPONSE) {
    std::copy(item.data.begin(), item.data.end(), item.payload->get_data_ptr());
  }
  item.payload->set_response_status(item.behaviour.status);
  item.payload->set_dmi_allowed(true);  // a hint that a memory may leave behind (14.16)
  overtakings_ += std::any_of(items_.begin(), items_.end(), [&](const Item& other) {
    return other.number < item.number &&
           other.payload->get_response_status() == tlm::TLM_INCOMPLETE_RESPONSE;
  });
}

void ScriptedMemory::release(Item& item) {
  item.payload->release();
  items_.erase(std::find_if(items_.begin(), items_.end(),
                            [&](const Item& other) { return &other == &item; }));
}

void ScriptedMemory::b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  const Behaviour behaviour = script_(transactions_, payload);
  Item& item = enter(payload, behaviour);
  if (behaviour.rewrite_address) payload.set_address(~payload.get_address());
  const std::uint64_t waits = behaviour.accept_ps + behaviour.response_ps;
  if (waits > 0) sc_core::wait(time_.to_sc_time(waits));
  fill_response(item);
  delay += time_.to_sc_time(behaviour.accept_annotated_ps + behaviour.response_annotated_ps);
  leave(item);
}

bool ScriptedMemory::get_direct_mem_ptr(tlm::tlm_generic_payload&, tlm::tlm_dmi& dmi) {
  ++dmi_requests_;
  dmi.allow_none();
  dmi.set_start_address(storage_.range().begin);
  dmi.set_end_address(storage_.range().end - 1);
  return false;
}

unsigned int ScriptedMemory::transport_dbg(tlm::tlm_generic_payload& payload) {
  const std::uint64_t address = payload.get_address();
  if (payload.is_write()) {
    storage_.write(address, payload.get_data_ptr(), payload.get_data_length());
  } else {
    storage_.read(address, payload.get_data_ptr(), payload.get_data_length());
  }
  return payload.get_data_length();
}

ScriptedMemory::Script random_script(std::uint64_t seed, std::uint64_t max_ps) {
  return [=](std::uint64_t index, const tlm::tlm_generic_payload&) {
    // The engine's raw numbers are the same everywhere; those of std's distributions are not.
    std::mt19937_64 random(seed * 0x9e3779b97f4a7c15u + index);
    const auto delay = [&] { return random() % 2 == 0 ? 0 : random() % (max_ps + 1); };
    Behaviour behaviour;
    behaviour.answer = static_cast<Answer>(random() % kAnswers);
    // Short against the response, so that many transactions are outstanding.
    behaviour.accept_ps = delay() / 16;
    behaviour.accept_annotated_ps = delay() / 16;
    behaviour.response_ps = delay();
    behaviour.response_annotated_ps = delay();
    behaviour.serve_late = random() % 2 == 0;
    behaviour.rewrite_address = random() % 2 == 0;
    behaviour.hold_ps = delay();
    return behaviour;
  };
}

}  // namespace kernbench::test
