// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <utility>

#include "tests/datapath/rdma/hostile_attack.h"

namespace verbline::hostile {

using enum transport::QueuePairState;
using transport::QueuePairType, transport::SendOperation;

// Messages: opcodes out of sequence, lengths that contradict, and receive requests that cannot take what comes.

namespace {

constexpr Frame send_first{.opcode = op::send_first, .payload = 1024};
constexpr Frame write_first{.opcode = op::write_first, .payload = 1024, .length = 2048};

/// The last of the frames is refused; a SEND holds the only receive request by then.
Row invalid(std::string_view name, std::vector<Frame> frames, std::size_t written = 0) {
    const auto last = frames.size() - 1;
    constexpr std::array<std::string_view, 3> naks{"NAK invalid +0 msn 0", "ACK +0 msn 0, NAK invalid +1 msn 0",
                                                   "ACK +0 msn 0, ACK +1 msn 0, NAK invalid +2 msn 0"};
    return {.name = name,
            .frames = std::move(frames),
            .answers = naks.at(last),
            .counters = "resp_remote_invalid_request",
            .completions = "receive: work request flushed",
            .events = "request error",
            .state = error,
            .written = written,
            .receives = 1};
}
Row xrc_invalid(std::string_view name, const Frame& frame) {
    return {.name = name,
            .type = QueuePairType::xrc_target,
            .frames = {frame},
            .answers = "NAK invalid +0 msn 0",
            .counters = "resp_remote_invalid_request",
            .events = "request error, last WQE",
            .state = error,
            .receives = 1};
}
/// A SEND of 2000 bytes meets a receive request for memory that it must not write.
Row receive_of(std::string_view name, Key key) {
    return {.name = name,
            .frames = {{.opcode = op::send_only, .payload = 64}},
            .answers = "NAK operational +0 msn 0",
            .counters = "resp_remote_operation_errors",
            .completions = "receive: local protection error",
            .events = "fatal",
            .state = error,
            .receives = 1,
            .receive_key = key};
}

constexpr std::size_t sent = 4096 + 1024, whole = 1024;  ///< how far a SEND's, a WRITE's first packet reaches

}  // namespace

std::vector<Row> message_rows() {
    return {
        invalid("SEND middle without a first", {{.opcode = op::send_middle, .payload = 1024}}),
        invalid("SEND last without a first", {{.opcode = op::send_last, .payload = 64}}),
        invalid("WRITE middle without a first", {{.opcode = op::write_middle, .payload = 1024}}),
        invalid("WRITE last without a first", {{.opcode = op::write_last, .payload = 64}}),
        invalid("SEND first in a SEND", {send_first, {.opcode = op::send_first, .psn = 1, .payload = 1024}}, sent),
        invalid("SEND only in a SEND", {send_first, {.opcode = op::send_only, .psn = 1, .payload = 64}}, sent),
        invalid("WRITE only in a SEND", {send_first, {.opcode = op::write_only, .psn = 1, .payload = 64}}, sent),
        invalid("WRITE middle in a SEND", {send_first, {.opcode = op::write_middle, .psn = 1, .payload = 1024}}, sent),
        invalid("SEND last in a WRITE", {write_first, {.opcode = op::send_last, .psn = 1, .payload = 1024}}, whole),
        invalid("SEND only in a WRITE", {write_first, {.opcode = op::send_only, .psn = 1, .payload = 64}}, whole),
        invalid("READ in a SEND", {send_first, {.opcode = op::read_request, .psn = 1, .length = 64}}, sent),
        invalid("FETCH_ADD in a WRITE", {write_first, {.opcode = op::fetch_add, .psn = 1}}, whole),
        invalid("ATOMIC WRITE in a SEND", {send_first, {.opcode = op::atomic_write, .psn = 1, .payload = 8}}, sent),
        invalid("FLUSH in a WRITE", {write_first, {.opcode = op::flush, .psn = 1, .length = 64}}, whole),
        invalid("SEND first shorter than the path MTU", {{.opcode = op::send_first, .payload = 1020}}),
        invalid("SEND first longer than the path MTU", {{.opcode = op::send_first, .payload = 1028}}),
        invalid("SEND only longer than the path MTU", {{.opcode = op::send_only, .payload = 1025}}),
        invalid("SEND middle shorter than the path MTU",
                {send_first, {.opcode = op::send_middle, .psn = 1, .payload = 1023}}, sent),
        invalid("SEND last of nothing", {send_first, {.opcode = op::send_last, .psn = 1}}, sent),
        invalid("SEND last longer than the path MTU",
                {send_first, {.opcode = op::send_last, .psn = 1, .payload = 1025}}, sent),
        invalid("WRITE only, RETH says more", {{.opcode = op::write_only, .payload = 64, .length = 65}}),
        invalid("WRITE only, RETH says less", {{.opcode = op::write_only, .payload = 64, .length = 63}}),
        invalid("WRITE first, RETH says it is all", {{.opcode = op::write_first, .payload = 1024, .length = 1024}}),
        invalid("WRITE last leaves something out", {write_first, {.opcode = op::write_last, .psn = 1, .payload = 1023}},
                whole),
        invalid("WRITE middle takes all that there is",
                {write_first, {.opcode = op::write_middle, .psn = 1, .payload = 1024}}, whole),
        invalid("WRITE middle goes on beyond the RETH's length",
                {{.opcode = op::write_first, .payload = 1024, .length = 3072},
                 {.opcode = op::write_middle, .psn = 1, .payload = 1024},
                 {.opcode = op::write_middle, .psn = 2, .payload = 1024}},
                2048),
        invalid("WRITE of more than 2 GiB", {{.opcode = op::write_first, .payload = 1024, .length = 0x8000'0001}}),
        invalid("READ of more than 2 GiB", {{.opcode = op::read_request, .length = 0x8000'0001}}),
        invalid("READ with a payload", {{.opcode = op::read_request, .payload = 4}}),
        invalid("FETCH_ADD with a payload", {{.opcode = op::fetch_add, .payload = 8}}),
        {.name = "SEND longer than the receive request",
         .frames = {{.opcode = op::send_only, .payload = 64}},
         .answers = "NAK invalid +0 msn 0",
         .counters = "resp_local_length_error, resp_remote_invalid_request",
         .completions = "receive: local length error, receive: work request flushed",
         .events = "request error",
         .state = error,
         .written = 4096 + 63,
         .receives = 2,
         .receive_size = 63},
        {.name = "SEND of two packets, the second too long for the receive request",
         .frames = {send_first, {.opcode = op::send_last, .psn = 1, .payload = 64}},
         .answers = "ACK +0 msn 0, NAK invalid +1 msn 0",
         .counters = "resp_local_length_error, resp_remote_invalid_request",
         .completions = "receive: local length error",
         .events = "request error",
         .state = error,
         .written = 4096 + 1087,
         .receives = 1,
         .receive_size = 1087},
        receive_of("SEND to a receive request of another protection domain", Key::other_domain),
        receive_of("SEND to a receive request whose region is gone", Key::stale),
        receive_of("SEND to a receive request for read-only memory", Key::read_only),
        receive_of("SEND to a receive request whose page is gone", Key::gone),
        {.name = "SEND, nothing posted",
         .frames = {{.opcode = op::send_only, .payload = 64}},
         .answers = "RNR 12 +0 msn 0",
         .counters = "out_of_buffer"},
        {.name = "WRITE with immediate, nothing posted",
         .frames = {{.opcode = op::write_only_immediate, .payload = 64}},
         .answers = "RNR 12 +0 msn 0",
         .counters = "out_of_buffer"},
        xrc_invalid("XRC SEND to an unknown SRQ", {.opcode = xrc(op::send_only), .payload = 64, .srq = Srq::unknown}),
        xrc_invalid("XRC SEND to an SRQ of another domain",
                    {.opcode = xrc(op::send_only), .payload = 64, .srq = Srq::other_domain}),
        xrc_invalid("XRC WRITE with immediate to an unknown SRQ",
                    {.opcode = xrc(op::write_only_immediate), .payload = 64, .srq = Srq::unknown}),
        {.name = "XRC WRITE, its last packet with immediate to an unknown SRQ",
         .type = QueuePairType::xrc_target,
         .frames = {{.opcode = xrc(op::write_first), .payload = 1024, .length = 1088},
                    {.opcode = xrc(op::write_last_immediate), .psn = 1, .payload = 64, .srq = Srq::unknown}},
         .answers = "ACK +0 msn 0, NAK invalid +1 msn 0",
         .counters = "resp_remote_invalid_request",
         .events = "request error, last WQE",
         .state = error,
         .written = 1024,
         .receives = 1},
        {.name = "XRC SEND without room for its XRCETH",
         .type = QueuePairType::xrc_target,
         .frames = {{.opcode = xrc(op::send_only), .cut = 4}},
         .counters = "rx_dropped_length"},
        {.name = "XRC READ without room for its RETH",
         .type = QueuePairType::xrc_target,
         .frames = {{.opcode = xrc(op::read_request), .cut = 4}},
         .counters = "rx_dropped_length"},
        {.name = "XRC SEND, SRQ is empty",
         .type = QueuePairType::xrc_target,
         .frames = {{.opcode = xrc(op::send_only), .payload = 64}},
         .answers = "RNR 12 +0 msn 0",
         .counters = "out_of_buffer"},
    };
}

}  // namespace verbline::hostile
