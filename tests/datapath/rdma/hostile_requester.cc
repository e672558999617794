// SPDX-License-Identifier: BSD-3-Clause
#include <utility>

#include "tests/datapath/rdma/hostile_attack.h"

namespace verbline::hostile {

using enum transport::QueuePairState;
using transport::QueuePairType, transport::SendOperation;

// Answers that a requester did not ask for, and memory that its own requests cannot use.

namespace {

constexpr Posted a_send{SendOperation::send}, a_write{SendOperation::write}, a_read{SendOperation::read, 2048},
    an_atomic{SendOperation::fetch_add, 8};

/// The answer is not one to what was posted: nothing happens.
Row ignored(std::string_view name, std::vector<Posted> posted, const Frame& frame, std::string_view counters) {
    return {.name = name, .frames = {frame}, .counters = counters, .posted = std::move(posted)};
}
/// It ends the request, and the queue pair.
Row fatal(std::string_view name, std::vector<Posted> posted, std::vector<Frame> frames, std::string_view completions,
          std::string_view counters = "") {
    return {.name = name,
            .frames = std::move(frames),
            .counters = counters,
            .completions = completions,
            .state = error,
            .posted = std::move(posted)};
}
/// It is refused at home, before or after the victim has sent anything.
Row at_home(std::string_view name, const Posted& posted, std::vector<Frame> frames = {}) {
    return {.name = name,
            .frames = frames,
            .counters = frames.empty() ? "" : "req_local_errors",
            .completions = "send: local protection error",
            .state = error,
            .posted = {posted}};
}

}  // namespace

std::vector<Row> requester_rows() {
    using wire::AethKind;
    const Frame ack{.opcode = op::acknowledge};
    const Frame first{.opcode = op::read_response_first, .payload = 1024};
    return {
        ignored("ACK of nothing", {}, ack, "rx_dropped_ack"),
        ignored("ACK beyond the window", {a_send}, {.opcode = op::acknowledge, .psn = 1}, "rx_dropped_ack"),
        ignored("ACK from the other half of the circle", {a_send}, {.opcode = op::acknowledge, .psn = 0x80'0000},
                "rx_dropped_ack"),
        ignored("ACK of the past", {a_send}, {.opcode = op::acknowledge, .psn = -2}, "rx_dropped_ack"),
        ignored("ACK of a reserved kind", {a_send}, {.opcode = op::acknowledge, .kind = AethKind::reserved},
                "rx_dropped_ack"),
        ignored("NAK of a reserved code", {a_send}, {.opcode = op::acknowledge, .kind = AethKind::nak, .value = 9},
                "rx_dropped_ack"),
        ignored("NAK of nothing", {}, {.opcode = op::acknowledge, .kind = AethKind::nak, .value = 2}, "rx_dropped_ack"),
        ignored("sequence NAK of what was not sent", {a_send},
                {.opcode = op::acknowledge, .psn = 1, .kind = AethKind::nak, .value = 0}, "rx_dropped_ack"),
        ignored("access NAK of what was not sent", {a_write},
                {.opcode = op::acknowledge, .psn = 1, .kind = AethKind::nak, .value = 2}, "rx_dropped_ack"),
        ignored("RNR NAK of what was not sent", {a_send},
                {.opcode = op::acknowledge, .psn = 1, .kind = AethKind::rnr_nak, .value = 1}, "rx_dropped_ack"),
        ignored("RNR NAK of nothing", {}, {.opcode = op::acknowledge, .kind = AethKind::rnr_nak, .value = 1},
                "rx_dropped_ack"),
        ignored("READ response to nothing", {}, {.opcode = op::read_response_only, .payload = 64}, "rx_dropped_ack"),
        ignored("READ response to a SEND", {a_send}, {.opcode = op::read_response_only, .payload = 64},
                "rx_dropped_response"),
        ignored("ATOMIC ACK to a SEND", {a_send}, {.opcode = op::atomic_acknowledge}, "rx_dropped_response"),
        ignored("READ response of the past", {a_read}, {.opcode = op::read_response_first, .psn = -1, .payload = 1024},
                "rx_dropped_ack"),
        fatal("READ response too short", {a_read}, {{.opcode = op::read_response_first, .payload = 1020}},
              "send: bad response"),
        fatal("READ response too long", {a_read}, {{.opcode = op::read_response_first, .payload = 1028}},
              "send: bad response"),
        fatal("READ response ends too early", {a_read}, {{.opcode = op::read_response_only, .payload = 1024}},
              "send: bad response"),
        {.name = "READ response does not end",
         .frames = {first, {.opcode = op::read_response_middle, .psn = 1, .payload = 1024}},
         .completions = "send: bad response",
         .state = error,
         .written = 1024,
         .posted = {a_read}},
        {.name = "READ response, last is short",
         .frames = {first, {.opcode = op::read_response_last, .psn = 1, .payload = 1023}},
         .completions = "send: bad response",
         .state = error,
         .written = 1024,
         .posted = {a_read}},
        fatal("ATOMIC ACK to a READ", {a_read}, {{.opcode = op::atomic_acknowledge}}, "send: bad response"),
        fatal("READ response to an atomic", {an_atomic}, {{.opcode = op::read_response_only, .payload = 8}},
              "send: bad response"),
        fatal("READ response of nothing to an atomic", {an_atomic}, {{.opcode = op::read_response_only}},
              "send: bad response"),
        fatal("ATOMIC ACK with a payload", {an_atomic}, {{.opcode = op::atomic_acknowledge, .payload = 8}},
              "send: bad response"),
        fatal("what follows a bad response is flushed", {an_atomic, a_send, a_write},
              {{.opcode = op::read_response_only, .payload = 8}},
              "send: bad response, send: work request flushed, send: work request flushed"),
        {.name = "ACK of a READ: its responses were lost",
         .frames = {ack},
         .answers = "READ +0",
         .counters = "implied_nak_seq_err",
         .posted = {a_read}},
        {.name = "READ response before an earlier one",
         .frames = {{.opcode = op::read_response_last, .psn = 1, .payload = 1024}},
         .answers = "READ +0",
         .counters = "implied_nak_seq_err",
         .posted = {a_read}},
        {.name = "ATOMIC ACK before that of an earlier one",
         .frames = {{.opcode = op::atomic_acknowledge, .psn = 1}},
         .answers = "FETCH_ADD +0, FETCH_ADD +1",
         .counters = "implied_nak_seq_err",
         .posted = {an_atomic, an_atomic}},
        {.name = "sequence NAK",
         .frames = {{.opcode = op::acknowledge, .psn = 1, .kind = AethKind::nak, .value = 0}},
         .answers = "SEND only +1",
         .counters = "packet_seq_err",
         .completions = "send: success",
         .posted = {a_send, a_send}},
        {.name = "sequence NAK with a map that nobody agreed on",
         .frames = {{.opcode = op::acknowledge, .payload = 128, .kind = AethKind::nak, .value = 0}},
         .answers = "SEND only +0",
         .counters = "packet_seq_err",
         .posted = {a_send}},
        {.name = "sequence NAK with a map of packets that were never sent",
         .frames = {{.opcode = op::acknowledge, .payload = 128, .kind = AethKind::nak, .value = 0}},
         .counters = "packet_seq_err",
         .posted = {a_send},
         .selective = true},
        {.name = "sequence NAK with a map larger than there is",
         .frames = {{.opcode = op::acknowledge, .payload = 1024, .kind = AethKind::nak, .value = 0}},
         .counters = "packet_seq_err",
         .posted = {a_send},
         .selective = true},
        {.name = "RNR NAK, twice: it waits, but not more than once",
         .frames = {{.opcode = op::acknowledge, .kind = AethKind::rnr_nak, .value = 1},
                    {.opcode = op::acknowledge, .kind = AethKind::rnr_nak, .value = 1}},
         .answers = "SEND only +0",
         .counters = "rnr_nak_retry_err x2",
         .posted = {a_send},
         .wait = 20 * microsecond},
        fatal("invalid request NAK", {a_write}, {{.opcode = op::acknowledge, .kind = AethKind::nak, .value = 1}},
              "send: remote invalid request error", "req_remote_invalid_request"),
        fatal("access NAK", {a_write}, {{.opcode = op::acknowledge, .kind = AethKind::nak, .value = 2}},
              "send: remote access error", "req_remote_access_errors"),
        fatal("operational NAK", {a_write}, {{.opcode = op::acknowledge, .kind = AethKind::nak, .value = 3}},
              "send: remote operation error", "req_remote_operation_errors"),
        fatal("access NAK of the second of three", {a_write, a_write, a_write},
              {{.opcode = op::acknowledge, .psn = 1, .kind = AethKind::nak, .value = 2}},
              "send: success, send: remote access error, send: work request flushed", "req_remote_access_errors"),
        at_home("SEND from a region that is gone", {SendOperation::send, 64, Key::stale}),
        at_home("SEND from another protection domain", {SendOperation::send, 64, Key::other_domain}),
        at_home("SEND from a page that is gone", {SendOperation::send, 64, Key::gone}),
        at_home("WRITE from a page that is gone", {SendOperation::write, 64, Key::gone}),
        at_home("READ to a region that is gone", {SendOperation::read, 64, Key::stale},
                {{.opcode = op::read_response_only, .payload = 64}}),
        at_home("READ to read-only memory", {SendOperation::read, 64, Key::read_only},
                {{.opcode = op::read_response_only, .payload = 64}}),
        at_home("READ to a page that is gone", {SendOperation::read, 64, Key::gone},
                {{.opcode = op::read_response_only, .payload = 64}}),
        at_home("FETCH_ADD to a page that is gone", {SendOperation::fetch_add, 8, Key::gone},
                {{.opcode = op::atomic_acknowledge}}),
    };
}

}  // namespace verbline::hostile
