// SPDX-License-Identifier: Apache-2.0
#include "tlm_if/base_protocol_monitor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace kernbench {
namespace {

using sc_core::SC_NS;
using sc_core::sc_time;
using sc_core::SC_ZERO_TIME;

using testing::ElementsAre;

using testing::HasSubstr;
using testing::IsEmpty;

TLM_DECLARE_EXTENDED_PHASE(own_phase);

using NbTransport =
    std::function<tlm::tlm_sync_enum(tlm::tlm_generic_payload&, tlm::tlm_phase&, sc_time&)>;

tlm::tlm_sync_enum accept(tlm::tlm_generic_payload&, tlm::tlm_phase&, sc_time&) {
  return tlm::TLM_ACCEPTED;
}

// Both ends of the binding. The test makes the calls; what the other end does is a function.
class Ends : public sc_core::sc_module,
             private tlm::tlm_fw_transport_if<>,
             private tlm::tlm_bw_transport_if<> {
 public:
  tlm::tlm_initiator_socket<32> initiator{"initiator"};
  tlm::tlm_target_socket<32> target{"target"};
  NbTransport on_forward = accept;
  NbTransport on_backward = accept;
  std::function<void(tlm::tlm_generic_payload&)> on_blocking = [](tlm::tlm_generic_payload& p) {
    p.set_response_status(tlm::TLM_OK_RESPONSE);
  };
  std::function<void()> body;  // of a method process, run by go()
  sc_core::sc_event go;

  explicit Ends(const sc_core::sc_module_name& name) : sc_module(name) {
    KERNBENCH_HAS_PROCESS(Ends);
    SC_METHOD(run);
    sensitive << go;
    dont_initialize();
    initiator.bind(*this);
    target.bind(*this);
  }

 private:
  void run() { body(); }
  tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_time& delay) override {
    return on_forward(payload, phase, delay);
  }
  tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_time& delay) override {
    return on_backward(payload, phase, delay);
  }
  void b_transport(tlm::tlm_generic_payload& payload, sc_time&) override { on_blocking(payload); }
  bool get_direct_mem_ptr(tlm::tlm_generic_payload&, tlm::tlm_dmi& dmi) override {
    dmi.set_end_address(0x77);
    return true;
  }
  unsigned int transport_dbg(tlm::tlm_generic_payload& payload) override {
    return payload.get_data_length() - 1;
  }
  void invalidate_direct_mem_ptr(sc_dt::uint64 begin, sc_dt::uint64 end) override {
    invalidated = {begin, end};
  }

 public:
  std::pair<sc_dt::uint64, sc_dt::uint64> invalidated;
};

// A payload as rule 14 wants it. Freed: kept, so that a test may go on with it.
struct Payload : tlm::tlm_generic_payload, tlm::tlm_mm_interface {
  Payload(tlm::tlm_command command, std::uint64_t address, unsigned int bytes) : buffer(bytes) {
    set_mm(this);
    acquire();
    set_command(command);
    set_address(address);
    set_data_ptr(buffer.data());
    set_data_length(bytes);
    set_streaming_width(bytes);
    set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
  }
  void free(tlm::tlm_generic_payload*) override {}
  std::vector<unsigned char> buffer;
};
struct Read : Payload {
  explicit Read(std::uint64_t address, unsigned int bytes = 64)
      : Payload(tlm::TLM_READ_COMMAND, address, bytes) {}
};
struct Write : Payload {
  explicit Write(std::uint64_t address, unsigned int bytes = 64)
      : Payload(tlm::TLM_WRITE_COMMAND, address, bytes) {}
};

class BaseProtocolMonitorTest : public testing::Test {
 protected:
  explicit BaseProtocolMonitorTest(
      BaseProtocolMonitor::Checks checks = BaseProtocolMonitor::Checks::with_port_rules)
      : monitor("monitor", checks) {
    ends.initiator.bind(monitor.upstream);
    monitor.downstream.bind(ends.target);
    sc_core::sc_start(SC_ZERO_TIME);
  }

  tlm::tlm_sync_enum forward(tlm::tlm_generic_payload& payload, tlm::tlm_phase phase,
                             sc_time delay = SC_ZERO_TIME) {
    return ends.initiator->nb_transport_fw(payload, phase, delay);
  }
  tlm::tlm_sync_enum backward(tlm::tlm_generic_payload& payload, tlm::tlm_phase phase,
                              sc_time delay = SC_ZERO_TIME) {
    return ends.target->nb_transport_bw(payload, phase, delay);
  }
  void begin_req(Payload& payload) { forward(payload, tlm::BEGIN_REQ); }
  void end_req(Payload& payload) { backward(payload, tlm::END_REQ); }
  void begin_resp(Payload& payload, sc_time delay = SC_ZERO_TIME) {
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
    backward(payload, tlm::BEGIN_RESP, delay);
  }
  void end_resp(Payload& payload) { forward(payload, tlm::END_RESP); }

  // The answer of the other end to the next BEGIN_REQ.
  void answer_request(tlm::tlm_sync_enum answer, tlm::tlm_phase with_phase,
                      sc_time with_delay = SC_ZERO_TIME) {
    ends.on_forward = [=](tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                          sc_time& delay) {
      if (phase != tlm::BEGIN_REQ) return tlm::TLM_ACCEPTED;
      if (answer == tlm::TLM_COMPLETED || with_phase == tlm::BEGIN_RESP) {
        payload.set_response_status(tlm::TLM_OK_RESPONSE);
      }
      phase = with_phase;
      delay += with_delay;
      return answer;
    };
  }
  void pass(int ns) { sc_core::sc_start(ns, SC_NS); }

  // Exactly one violation, of that rule and with that text.
  void expect_only(const std::string& rule_and_text) {
    EXPECT_THAT(monitor.violations(), ElementsAre(HasSubstr("monitor: " + rule_and_text)));
  }

  Ends ends{"ends"};
  BaseProtocolMonitor monitor;
};

// --- What is legal ---

TEST_F(BaseProtocolMonitorTest, FourPhasesOfSeveralTransactionsInAnyOrderAreLegal) {
  Read a(0x1000), b(0x1000);  // reads may overlap
  Write c(0x2000);
  begin_req(a);
  end_req(a);
  begin_req(b);
  pass(1);
  end_req(b);
  begin_req(c);
  EXPECT_EQ(monitor.outstanding(), 3u);
  begin_resp(b);
  end_resp(b);
  end_req(c);
  pass(1);
  begin_resp(c);
  end_resp(c);
  begin_resp(a);
  end_resp(a);
  EXPECT_EQ(monitor.outstanding(), 0u);
  EXPECT_THAT(monitor.violations(), IsEmpty());
}

TEST_F(BaseProtocolMonitorTest, EveryShortFormIsLegal) {
  Read a(0), b(64), c(128), d(192);
  answer_request(tlm::TLM_UPDATED, tlm::END_REQ);
  begin_req(a);
  answer_request(tlm::TLM_UPDATED, tlm::BEGIN_RESP);
  begin_req(b);
  end_resp(b);
  answer_request(tlm::TLM_COMPLETED, tlm::UNINITIALIZED_PHASE);
  begin_req(c);
  ends.on_forward = accept;
  begin_req(d);
  begin_resp(d);  // implies END_REQ
  end_resp(d);
  begin_resp(a);
  end_resp(a);
  EXPECT_EQ(monitor.outstanding(), 0u);
  EXPECT_THAT(monitor.violations(), IsEmpty());
}

TEST_F(BaseProtocolMonitorTest, AnnotatedDelaysThatAreWaitedOutAreLegal) {
  Read a(0);
  Write b(0);
  answer_request(tlm::TLM_UPDATED, tlm::END_REQ, sc_time(5, SC_NS));
  begin_req(a);
  pass(2);
  begin_resp(a, sc_time(10, SC_NS));  // at 12 ns
  pass(10);
  end_resp(a);
  answer_request(tlm::TLM_COMPLETED, tlm::UNINITIALIZED_PHASE, sc_time(3, SC_NS));
  begin_req(b);
  EXPECT_EQ(monitor.outstanding(), 1u);  // until its delay has passed
  pass(3);
  EXPECT_EQ(monitor.outstanding(), 0u);
  Read c(0);
  begin_req(c);
  EXPECT_THAT(monitor.violations(), IsEmpty());
}

TEST_F(BaseProtocolMonitorTest, ARewrittenAddressAndUnknownPhasesAreLegal) {
  Read a(0x1000);
  begin_req(a);
  a.set_address(0x10);
  backward(a, own_phase);
  forward(a, own_phase);
  begin_resp(a);
  a.set_address(0x20);
  end_resp(a);
  EXPECT_THAT(monitor.violations(), IsEmpty());
}

TEST_F(BaseProtocolMonitorTest, ForwardsEverythingUnchanged) {
  Read a(0x1000);
  ends.on_forward = [&](tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase, sc_time& delay) {
    EXPECT_EQ(&payload, &a);
    EXPECT_EQ(phase, tlm::BEGIN_REQ);
    EXPECT_EQ(delay, sc_time(2, SC_NS));
    phase = tlm::END_REQ;
    delay = sc_time(7, SC_NS);
    return tlm::TLM_UPDATED;
  };
  tlm::tlm_phase phase = tlm::BEGIN_REQ;
  sc_time delay(2, SC_NS);
  EXPECT_EQ(ends.initiator->nb_transport_fw(a, phase, delay), tlm::TLM_UPDATED);
  EXPECT_EQ(phase, tlm::END_REQ);
  EXPECT_EQ(delay, sc_time(7, SC_NS));
  EXPECT_EQ(a.get_ref_count(), 1);

  tlm::tlm_dmi dmi;
  EXPECT_TRUE(ends.initiator->get_direct_mem_ptr(a, dmi));
  EXPECT_EQ(dmi.get_end_address(), 0x77u);
  EXPECT_EQ(ends.initiator->transport_dbg(a), 63u);
  ends.target->invalidate_direct_mem_ptr(3, 9);
  EXPECT_EQ(ends.invalidated, std::make_pair(sc_dt::uint64{3}, sc_dt::uint64{9}));
  Read b(0x2000);
  sc_time none;
  ends.initiator->b_transport(b, none);
  EXPECT_TRUE(b.is_response_ok());
  EXPECT_THAT(monitor.violations(), IsEmpty());
}

// --- Order and exclusion ---

TEST_F(BaseProtocolMonitorTest, MessageNamesRuleTransactionAndTime) {
  Read a(0x1000), b(0x2000, 32);
  begin_req(a);
  pass(12);
  begin_req(b);
  EXPECT_THAT(monitor.violations(),
              ElementsAre("monitor: 15.2.6 e: BEGIN_REQ while an earlier request has not been "
                          "accepted: read of 32 bytes at 0x2000, at 12 ns"));
}

TEST_F(BaseProtocolMonitorTest, RequestBeforeTheAnnotatedAcceptance) {
  Read a(0), b(64);
  answer_request(tlm::TLM_UPDATED, tlm::END_REQ, sc_time(5, SC_NS));
  begin_req(a);
  pass(4);
  begin_req(b);
  expect_only("15.2.6 e: BEGIN_REQ before the annotated delay");
}

TEST_F(BaseProtocolMonitorTest, RequestBeforeTheAnnotatedCompletion) {
  Read a(0), b(64);
  answer_request(tlm::TLM_COMPLETED, tlm::UNINITIALIZED_PHASE, sc_time(5, SC_NS));
  begin_req(a);
  pass(4);
  begin_req(b);
  expect_only("15.2.6 e: BEGIN_REQ before the annotated delay");
}

TEST_F(BaseProtocolMonitorTest, TwoResponsesAtOnce) {
  Read a(0), b(64);
  begin_req(a);
  end_req(a);
  begin_req(b);
  begin_resp(a);
  begin_resp(b);
  expect_only("15.2.6 f: BEGIN_RESP while an earlier response");
}

TEST_F(BaseProtocolMonitorTest, ResponseBeforeTheAnnotatedEndOfTheLast) {
  Read a(0), b(64);
  begin_req(a);
  end_req(a);
  begin_req(b);
  end_req(b);
  begin_resp(a);
  forward(a, tlm::END_RESP, sc_time(5, SC_NS));
  begin_resp(b);
  EXPECT_THAT(monitor.violations(), ElementsAre(HasSubstr("port rule: END_RESP is held back"),
                                                HasSubstr("15.2.6 f: BEGIN_RESP takes effect")));
}

TEST_F(BaseProtocolMonitorTest, SamePayloadTwice) {
  Read a(0);
  begin_req(a);
  end_req(a);
  begin_req(a);
  expect_only("15.2.4: a transaction begins while its payload is still in flight");
}

TEST_F(BaseProtocolMonitorTest, EndReqTwice) {
  Read a(0);
  begin_req(a);
  end_req(a);
  end_req(a);
  expect_only("15.2.4: END_REQ of a request that has been accepted");
}

TEST_F(BaseProtocolMonitorTest, BeginRespTwice) {
  Read a(0);
  begin_req(a);
  begin_resp(a);
  begin_resp(a);
  expect_only("15.2.4: BEGIN_RESP twice");
}

TEST_F(BaseProtocolMonitorTest, EndRespBeforeBeginResp) {
  Read a(0);
  begin_req(a);
  end_resp(a);
  expect_only("15.2.4: END_RESP without a BEGIN_RESP");
}

TEST_F(BaseProtocolMonitorTest, EndRespTwice) {
  Read a(0);
  begin_req(a);
  begin_resp(a);
  end_resp(a);
  end_resp(a);
  expect_only("15.2.4: END_RESP without a BEGIN_RESP");
}

TEST_F(BaseProtocolMonitorTest, PhaseOfATransactionThatIsNotInFlight) {
  Read a(0);
  end_req(a);
  expect_only("15.2.4: the target sends a phase of a transaction that is not in flight");
}

TEST_F(BaseProtocolMonitorTest, PhasesOnTheWrongPath) {
  Read a(0);
  begin_req(a);
  forward(a, tlm::END_REQ);
  backward(a, tlm::BEGIN_REQ);
  EXPECT_THAT(monitor.violations(),
              ElementsAre(HasSubstr("15.2.3 c: the initiator sends a phase of the target"),
                          HasSubstr("15.2.3 c: the target sends a phase of the initiator")));
}

TEST_F(BaseProtocolMonitorTest, RequestReturnsAPhaseOfTheInitiator) {
  Read a(0);
  answer_request(tlm::TLM_UPDATED, tlm::END_RESP);
  begin_req(a);
  expect_only("15.2.3 c: BEGIN_REQ returns with a phase of the initiator");
}

TEST_F(BaseProtocolMonitorTest, CompletedAfterANestedEndReq) {
  Read a(0);
  ends.on_forward = [&](tlm::tlm_generic_payload& payload, tlm::tlm_phase&, sc_time&) {
    end_req(a);
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
    return tlm::TLM_COMPLETED;
  };
  begin_req(a);
  expect_only("15.2.4: BEGIN_REQ returns TLM_COMPLETED after a phase of the target");
}

TEST_F(BaseProtocolMonitorTest, InitiatorAnswersEndReqWithCompleted) {
  Read a(0);
  begin_req(a);
  ends.on_backward = [](auto&, auto&, auto&) { return tlm::TLM_COMPLETED; };
  end_req(a);
  expect_only("15.2.4: the initiator answers END_REQ with more than TLM_ACCEPTED");
}

TEST_F(BaseProtocolMonitorTest, TimeOfAPhaseGoesBack) {
  Read a(0);
  begin_req(a);
  backward(a, tlm::END_REQ, sc_time(5, SC_NS));
  begin_resp(a);
  EXPECT_THAT(monitor.violations(),
              ElementsAre(HasSubstr("15.2.7 c: a phase takes effect before the one before it")));
}

TEST_F(BaseProtocolMonitorTest, EndRespBeforeTheAnnotatedResponse) {
  Read a(0);
  begin_req(a);
  begin_resp(a, sc_time(5, SC_NS));
  end_resp(a);
  expect_only("15.2.7 c: a phase takes effect before the one before it");
}

// --- Attributes ---

TEST_F(BaseProtocolMonitorTest, NoMemoryManager) {
  Read a(0);
  a.set_mm(nullptr);
  begin_req(a);
  expect_only("14.5 i: no memory manager");
}
TEST_F(BaseProtocolMonitorTest, NoReference) {
  Read a(0);
  a.release();
  begin_req(a);
  expect_only("14.5 t: the reference count is 0");
}
TEST_F(BaseProtocolMonitorTest, NoCommand) {
  Read a(0);
  a.set_command(tlm::TLM_IGNORE_COMMAND);
  begin_req(a);
  expect_only("14.9: neither a read nor a write");
}
TEST_F(BaseProtocolMonitorTest, NoData) {
  Write a(0);
  a.set_data_ptr(nullptr);
  begin_req(a);
  expect_only("14.11 e: the data pointer is null");
}
TEST_F(BaseProtocolMonitorTest, NoLength) {
  Read a(0);
  a.set_data_length(0);
  begin_req(a);
  expect_only("14.12 d: the data length is 0");
}
TEST_F(BaseProtocolMonitorTest, ByteEnableLengthAlone) {
  Read a(0);
  a.set_byte_enable_length(4);
  begin_req(a);
  expect_only("14.14 f: byte enable pointer and length");
}
TEST_F(BaseProtocolMonitorTest, StreamingWidthTooSmall) {
  Read a(0);
  a.set_streaming_width(32);
  begin_req(a);
  expect_only("14.15 f: the streaming width");
}
TEST_F(BaseProtocolMonitorTest, DmiAllowedLeftSet) {
  Read a(0);
  a.set_dmi_allowed(true);
  begin_req(a);
  expect_only("14.16: dmi_allowed is set");
}
TEST_F(BaseProtocolMonitorTest, OldResponseStatus) {
  Read a(0);
  a.set_response_status(tlm::TLM_OK_RESPONSE);
  begin_req(a);
  expect_only("14.17 e: the response status");
}
TEST_F(BaseProtocolMonitorTest, ResponseWithoutStatus) {
  Read a(0);
  begin_req(a);
  backward(a, tlm::BEGIN_RESP);
  expect_only("14.17: the response has the status TLM_INCOMPLETE_RESPONSE");
}
TEST_F(BaseProtocolMonitorTest, CompletionWithoutStatus) {
  Read a(0);
  ends.on_forward = [](auto&, auto&, auto&) { return tlm::TLM_COMPLETED; };
  begin_req(a);
  expect_only("14.17: the response has the status TLM_INCOMPLETE_RESPONSE");
}

struct Change {
  const char* what;
  std::function<void(Payload&)> apply;
};
class ChangeInFlight : public BaseProtocolMonitorTest, public testing::WithParamInterface<int> {};

unsigned char other_bytes[64];
const Change kChanges[] = {
    {"14.7: the command changed", [](Payload& p) { p.set_command(tlm::TLM_READ_COMMAND); }},
    {"14.7: the data length changed", [](Payload& p) { p.set_data_length(32); }},
    {"14.7: the streaming width changed", [](Payload& p) { p.set_streaming_width(128); }},
    {"14.7: the data pointer changed", [](Payload& p) { p.set_data_ptr(other_bytes); }},
    {"14.7: the byte enable pointer changed",
     [](Payload& p) { p.set_byte_enable_ptr(other_bytes); }},
    {"14.7: the byte enable length changed", [](Payload& p) { p.set_byte_enable_length(1); }},
    {"14.7: the data of a write changed", [](Payload& p) { ++p.buffer[63]; }},
    {"14.5 t: the payload was freed", [](Payload& p) { p.release(); }},
};

// Seen at END_RESP, the initiator's own last word on the payload.
TEST_P(ChangeInFlight, IsReported) {
  const Change& change = kChanges[GetParam()];
  Write a(0);
  begin_req(a);
  end_req(a);
  begin_resp(a);
  change.apply(a);
  end_resp(a);
  expect_only(change.what);
}
INSTANTIATE_TEST_SUITE_P(All, ChangeInFlight, testing::Range(0, 8));

TEST_F(BaseProtocolMonitorTest, ChangeInFlightIsSeenAtTheAcceptance) {
  Write a(0);
  begin_req(a);
  ++a.buffer[0];
  end_req(a);
  expect_only("14.7: the data of a write changed");
}

// --- What other memories need beyond the standard ---

TEST_F(BaseProtocolMonitorTest, EndRespNestedInBeginResp) {
  Read a(0);
  begin_req(a);
  ends.on_backward = [&](auto&, auto&, auto&) {
    end_resp(a);
    return tlm::TLM_ACCEPTED;
  };
  begin_resp(a);
  expect_only("port rule: END_RESP nested in the call of its BEGIN_RESP");
}

TEST_F(BaseProtocolMonitorTest, EndRespHeldBack) {
  Read a(0);
  begin_req(a);
  begin_resp(a);
  pass(1);
  end_resp(a);
  expect_only("port rule: END_RESP is held back");
}

TEST_F(BaseProtocolMonitorTest, ResponseEndedByReturn) {
  Read a(0), b(64);
  ends.on_backward = [](auto&, auto&, auto&) { return tlm::TLM_COMPLETED; };
  begin_req(a);
  begin_resp(a);
  EXPECT_EQ(monitor.outstanding(), 0u);
  expect_only("port rule: the initiator ends the response by its return from BEGIN_RESP");
}

TEST_F(BaseProtocolMonitorTest, OddLength) {
  Read a(0, 48);
  begin_req(a);
  expect_only("port rule: the data length is not a power of two");
}

TEST_F(BaseProtocolMonitorTest, UnalignedAddress) {
  Read a(32, 64);
  begin_req(a);
  expect_only("port rule: the address is not a multiple of the data length");
}

TEST_F(BaseProtocolMonitorTest, ByteEnables) {
  Read a(0);
  a.set_byte_enable_ptr(other_bytes);
  a.set_byte_enable_length(64);
  begin_req(a);
  expect_only("port rule: byte enables");
}

TEST_F(BaseProtocolMonitorTest, ReadOfBytesBeingWritten) {
  Write a(0x1000);
  Read b(0x1020, 32);
  begin_req(a);
  end_req(a);
  begin_req(b);
  expect_only("port rule: overlaps the outstanding write of 64 bytes at 0x1000");
}

TEST_F(BaseProtocolMonitorTest, WriteOfBytesBeingRead) {
  Read a(0x1000);
  Write b(0x103f, 1);
  begin_req(a);
  end_req(a);
  begin_req(b);
  expect_only("port rule: overlaps the outstanding read of 64 bytes at 0x1000");
}

// The response of the write takes effect at 5 ns: until then it is outstanding.
TEST_F(BaseProtocolMonitorTest, ReadBeforeTheAnnotatedResponseOfAWrite) {
  Write a(0);
  Read b(0), c(0);
  begin_req(a);
  end_req(a);
  begin_resp(a, sc_time(5, SC_NS));
  pass(4);
  begin_req(b);
  expect_only("port rule: overlaps the outstanding write of 64 bytes at 0x0");
  pass(1);
  end_req(b);
  begin_req(c);
  EXPECT_EQ(monitor.violations().size(), 1u);
}

class BaseProtocolOnly : public BaseProtocolMonitorTest {
 protected:
  BaseProtocolOnly() : BaseProtocolMonitorTest(BaseProtocolMonitor::Checks::base_protocol) {}
};

TEST_F(BaseProtocolOnly, PortRulesAreNotChecked) {
  Write a(32, 64);
  Read b(0, 48);
  begin_req(a);
  end_req(a);
  begin_req(b);
  ends.on_backward = [](auto&, auto&, auto&) { return tlm::TLM_COMPLETED; };
  begin_resp(a);
  ends.on_backward = accept;
  begin_resp(b);
  pass(1);
  end_resp(b);
  EXPECT_THAT(monitor.violations(), IsEmpty());
  EXPECT_EQ(monitor.outstanding(), 0u);
}

// --- Blocking transport, and the list ---

TEST_F(BaseProtocolMonitorTest, BlockingCallIsChecked) {
  Write a(0);
  sc_time delay;
  a.set_dmi_allowed(true);
  ends.on_blocking = [](tlm::tlm_generic_payload& payload) { payload.set_streaming_width(128); };
  ends.initiator->b_transport(a, delay);
  EXPECT_THAT(monitor.violations(), ElementsAre(HasSubstr("14.16"), HasSubstr("14.7"),
                                                HasSubstr("14.17: the response has the status")));
}

TEST_F(BaseProtocolMonitorTest, BlockingCallFromAMethod) {
  Read a(0);
  ends.body = [&] {
    sc_time delay;
    ends.initiator->b_transport(a, delay);
  };
  ends.go.notify(SC_ZERO_TIME);
  pass(1);
  expect_only("11.1.1.4 b: b_transport from a method process");
}

TEST_F(BaseProtocolMonitorTest, KeepsAHundred) {
  Read a(0);
  for (int i = 0; i < 150; ++i) end_resp(a);
  EXPECT_EQ(monitor.violations().size(), 100u);
}

}  // namespace
}  // namespace kernbench
