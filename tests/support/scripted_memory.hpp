// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <string_view>
#include <vector>

#include "model/arch/storage.hpp"
#include "tlm_if/systemc.hpp"

namespace kernbench::test {

/// How a memory may answer BEGIN_REQ within the base protocol.
enum class Answer : std::uint8_t {
  accepted,            ///< TLM_ACCEPTED, END_REQ by a later call
  nested_end_req,      ///< TLM_ACCEPTED, END_REQ by a call within this one
  updated_end_req,     ///< TLM_UPDATED with END_REQ
  no_end_req,          ///< TLM_ACCEPTED, the response stands for END_REQ
  nested_begin_resp,   ///< TLM_ACCEPTED, BEGIN_RESP by a call within this one
  updated_begin_resp,  ///< TLM_UPDATED with BEGIN_RESP
  completed,           ///< TLM_COMPLETED
};
inline constexpr int kAnswers = 7;
std::string_view to_string(Answer answer);

/// What the memory does with one transaction. Times in ps. A blocking call waits accept_ps and
/// response_ps within, and returns with the two annotated delays; `answer` is of the others.
struct Behaviour {
  Answer answer = Answer::accepted;
  std::uint64_t accept_ps = 0;            ///< BEGIN_REQ to END_REQ, where that is a later call
  std::uint64_t accept_annotated_ps = 0;  ///< delay annotated to END_REQ
  std::uint64_t response_ps = 0;          ///< from there to the call of BEGIN_RESP
  /// Delay annotated to BEGIN_RESP or TLM_COMPLETED.
  std::uint64_t response_annotated_ps = 0;
  /// Serves at the response rather than at BEGIN_REQ: samples the memory or the payload's data
  /// then.
  bool serve_late = false;
  bool rewrite_address = false;                            ///< as an interconnect does on the way
  tlm::tlm_response_status status = tlm::TLM_OK_RESPONSE;  ///< else no byte moves
  std::uint64_t hold_ps = 0;  ///< keeps its reference that long after the response has ended
  bool silent = false;        ///< takes the request, and that is all
};

/// A memory whose behaviour is chosen transaction by transaction. It keeps the base protocol, one
/// response at a time included: a response that would break that rule waits. The bytes of a read
/// are put into the payload with the response, before that it is left as it came.
class ScriptedMemory : public sc_core::sc_module, private tlm::tlm_fw_transport_if<> {
 public:
  /// `index` counts the transactions from 0, in the order of BEGIN_REQ.
  using Script =
      std::function<Behaviour(std::uint64_t index, const tlm::tlm_generic_payload& payload)>;

  tlm::tlm_target_socket<32> socket{"socket"};

  ScriptedMemory(const sc_core::sc_module_name& name, const command::ByteRange& range,
                 Script script);

  arch::Storage& storage() { return storage_; }
  std::uint64_t transactions() const { return transactions_; }
  /// The most transactions that were outstanding at once.
  std::size_t most_outstanding() const { return most_outstanding_; }
  /// Responses that came before one of an earlier request.
  std::uint64_t overtakings() const { return overtakings_; }
  /// Requests with a payload of which a reference was still held.
  std::uint64_t reused_while_held() const { return reused_while_held_; }
  /// Calls of get_direct_mem_ptr, which is refused.
  std::uint64_t dmi_requests() const { return dmi_requests_; }

 private:
  struct Item {
    tlm::tlm_generic_payload* payload;
    Behaviour behaviour;
    std::uint64_t number;
    std::uint64_t address;  // as requested
    std::vector<unsigned char> data;
  };
  enum class Step : std::uint8_t { end_req, begin_resp, release };
  struct Due {
    std::uint64_t time;
    Step step;
    Item* item;
  };

  tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) override;
  void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) override;
  bool get_direct_mem_ptr(tlm::tlm_generic_payload& payload, tlm::tlm_dmi& dmi) override;
  unsigned int transport_dbg(tlm::tlm_generic_payload& payload) override;

  tlm::tlm_sync_enum on_request(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                sc_core::sc_time& delay);
  Item& enter(tlm::tlm_generic_payload& payload, const Behaviour& behaviour);
  void on_end_response();
  /// The response has ended: lets go of the payload, now or later.
  void leave(Item& item);
  void work();
  void schedule(std::uint64_t time, Step step, Item& item);
  void respond(Item& item);
  void send(Item& item, tlm::tlm_phase phase, std::uint64_t delay_ps);
  void serve(Item& item);
  /// Fills in the payload as the response finds it.
  void fill_response(Item& item);
  void release(Item& item);

  const TimeBase time_;
  const Script script_;
  arch::Storage storage_;
  std::list<Item> items_;    // outstanding or held, by request
  std::vector<Due> agenda_;  // by time, ties as scheduled
  sc_core::sc_event agenda_event_;
  Item* responding_ = nullptr;  // BEGIN_RESP sent, END_RESP awaited
  std::deque<Item*> waiting_;   // for the response before them to end
  std::uint64_t transactions_ = 0;
  std::size_t outstanding_ = 0;
  std::size_t most_outstanding_ = 0;
  std::uint64_t overtakings_ = 0;
  std::uint64_t reused_while_held_ = 0;
  std::uint64_t dmi_requests_ = 0;
};

/// Every behaviour at random (other than errors), each transaction by its index and `seed`. Delays
/// are at most `max_ps`.
ScriptedMemory::Script random_script(std::uint64_t seed, std::uint64_t max_ps);

}  // namespace kernbench::test
