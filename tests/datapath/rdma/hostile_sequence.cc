// SPDX-License-Identifier: BSD-3-Clause
#include "tests/datapath/rdma/hostile_attack.h"

namespace verbline::hostile {

using enum transport::QueuePairState;
using transport::QueuePairType, transport::SendOperation;

// PSN games with a responder: duplicates, early arrivals, numbers from anywhere on the circle.

namespace {

constexpr Frame fetch_and_add{.opcode = op::fetch_add, .operand = 5};
constexpr Frame read{.opcode = op::read_request, .length = 2048};
constexpr std::string_view read_answer = "READ response first +0 msn 1 [1024], READ response last +1 msn 1 [1024]";

/// A READ of two packets, and then one that pretends to repeat it.
Row false_repeat(std::string_view name, const Frame& frame) {
    return {.name = name,
            .frames = {read, frame},
            .answers = read_answer,
            .counters = "duplicate_request, rx_dropped_resources, rx_read_requests"};
}
/// An early SEND: kept or not, the peer is told what is missing.
Row early(std::string_view name, std::int64_t psn, std::string_view counters) {
    return {.name = name,
            .frames = {{.opcode = op::send_only, .psn = psn, .payload = 64}},
            .answers = "NAK sequence +0 msn 0",
            .counters = counters,
            .receives = 1};
}
/// A late SEND: not executed again, and acknowledged as what was executed last.
Row late(std::string_view name, std::int64_t psn) {
    return {.name = name,
            .frames = {{.opcode = op::send_only, .psn = psn, .payload = 64}},
            .answers = "ACK -1 msn 0",
            .counters = "duplicate_request",
            .receives = 1};
}

}  // namespace

std::vector<Row> sequence_rows() {
    return {
        early("SEND one ahead", 1, "out_of_sequence"),
        early("SEND a window ahead", 1023, "out_of_sequence"),
        early("SEND beyond the window", 1024, "out_of_sequence, rx_dropped_ahead"),
        early("SEND a million ahead", 1'000'000, "out_of_sequence, rx_dropped_ahead"),
        early("SEND as far ahead as can be", 0x7f'ffff, "out_of_sequence, rx_dropped_ahead"),
        late("SEND half the circle away", 0x80'0000),
        late("SEND a thousand behind", -1000),
        late("SEND one behind", -1),
        {.name = "early SEND twice",
         .frames = {{.opcode = op::send_only, .psn = 2, .payload = 64},
                    {.opcode = op::send_only, .psn = 2, .payload = 64, .seed = 2}},
         .answers = "NAK sequence +0 msn 0, NAK sequence +0 msn 0",
         .counters = "duplicate_request, out_of_sequence x2",
         .receives = 1},
        {.name = "SEND far ahead, then one that has its place, to selective acknowledgement",
         .frames = {{.opcode = op::send_only, .psn = 500'000, .payload = 64},
                    {.opcode = op::send_only, .psn = 900, .payload = 64}},
         .answers = "NAK sequence +0 msn 0, NAK sequence +0 msn 0 [120]",
         .counters = "out_of_sequence x2, rx_dropped_ahead",
         .receives = 1,
         .selective = true},
        {.name = "early garbage is judged when its context comes",
         .frames = {{.opcode = op::send_last, .psn = 1, .payload = 64}, plain_send},
         .answers = "NAK sequence +0 msn 0, NAK invalid +1 msn 1",
         .counters = "out_of_sequence, resp_remote_invalid_request",
         .completions = "receive: success, receive: work request flushed",
         .events = "request error",
         .state = error,
         .written = 4096 + 64,
         .receives = 2},
        {.name = "WRITE repeated with other data",
         .frames = {{.opcode = op::write_only, .payload = 64, .seed = 1},
                    {.opcode = op::write_only, .payload = 64, .seed = 2, .offset = 128}},
         .answers = "ACK +0 msn 1, ACK +0 msn 1",
         .counters = "duplicate_request, rx_write_requests",
         .written = 64},
        {.name = "WRITE repeated with an unknown key",
         .frames = {{.opcode = op::write_only, .payload = 64},
                    {.opcode = op::write_only, .payload = 64, .key = Key::unknown}},
         .answers = "ACK +0 msn 1, ACK +0 msn 1",
         .counters = "duplicate_request, rx_write_requests",
         .written = 64},
        // A READ and an atomic are acknowledged by their response alone: an ACK that named one would tell a peer whose
        // response was lost that it has its data.
        {.name = "WRITE repeated after a READ",
         .frames = {{.opcode = op::write_only, .payload = 64},
                    {.opcode = op::read_request, .psn = 1, .length = 2048},
                    {.opcode = op::write_only, .payload = 64}},
         .answers = "ACK +0 msn 1, READ response first +1 msn 2 [1024], READ response last +2 msn 2 [1024], "
                    "ACK +0 msn 2",
         .counters = "duplicate_request, rx_read_requests, rx_write_requests",
         .written = 64},
        {.name = "WRITE repeated after a FETCH_ADD",
         .frames = {{.opcode = op::write_only, .payload = 64, .offset = 8},
                    {.opcode = op::fetch_add, .psn = 1},
                    {.opcode = op::write_only, .payload = 64, .offset = 8}},
         .answers = "ACK +0 msn 1, ATOMIC ACK +1 msn 2 = 0, ACK +0 msn 2",
         .counters = "duplicate_request, rx_atomic_requests, rx_write_requests",
         .written = 72},
        {.name = "WRITE repeated after a READ and another WRITE",
         .frames = {{.opcode = op::write_only, .payload = 64},
                    {.opcode = op::read_request, .psn = 1, .length = 64},
                    {.opcode = op::write_only, .psn = 2, .payload = 64},
                    {.opcode = op::write_only, .payload = 64}},
         .answers = "ACK +0 msn 1, READ response only +1 msn 2 [64], ACK +2 msn 3, ACK +2 msn 3",
         .counters = "duplicate_request, rx_read_requests, rx_write_requests x2",
         .written = 64},
        {.name = "SEND repeated after nothing but a READ",
         .frames = {{.opcode = op::read_request, .length = 64}, {.opcode = op::send_only, .psn = -1, .payload = 64}},
         .answers = "READ response only +0 msn 1 [64], ACK -1 msn 1",
         .counters = "duplicate_request, rx_read_requests",
         .receives = 1},
        {.name = "SEND with the number of a READ, after it",
         .frames = {{.opcode = op::read_request, .length = 64}, {.opcode = op::send_only, .payload = 64}},
         .answers = "READ response only +0 msn 1 [64]",
         .counters = "duplicate_request, rx_read_requests",
         .receives = 1},
        {.name = "early READ",
         .frames = {{.opcode = op::read_request, .psn = 1, .length = 64}, {.opcode = op::write_only, .payload = 64}},
         .answers = "NAK sequence +0 msn 0, READ response only +1 msn 2 [64]",
         .counters = "out_of_sequence, rx_read_requests, rx_write_requests",
         .written = 64},
        {.name = "early READ before an early WRITE",
         .frames = {{.opcode = op::read_request, .psn = 1, .length = 64},
                    {.opcode = op::write_only, .psn = 2, .payload = 64, .ack_request = false},
                    {.opcode = op::write_only, .payload = 64}},
         .answers = "NAK sequence +0 msn 0, READ response only +1 msn 2 [64], ACK +2 msn 3",
         .counters = "out_of_sequence x2, rx_read_requests, rx_write_requests x2",
         .written = 64},
        {.name = "early READ, and another one is missing",
         .frames = {{.opcode = op::read_request, .psn = 1, .length = 64},
                    {.opcode = op::write_only, .psn = 3, .payload = 64},
                    {.opcode = op::write_only, .payload = 64}},
         .answers = "NAK sequence +0 msn 0, READ response only +1 msn 2 [64], NAK sequence +2 msn 2",
         .counters = "out_of_sequence x2, rx_read_requests, rx_write_requests",
         .written = 64},
        {.name = "FETCH_ADD repeated",
         .frames = {fetch_and_add, fetch_and_add, fetch_and_add},
         .answers = "ATOMIC ACK +0 msn 1 = 0, ATOMIC ACK +0 msn 1 = 0, "
                    "ATOMIC ACK +0 msn 1 = 0",
         .counters = "duplicate_request x2, rx_atomic_requests",
         .written = 8},
        {.name = "FETCH_ADD repeated as a READ",
         .frames = {fetch_and_add, {.opcode = op::read_request, .length = 64}},
         .answers = "ATOMIC ACK +0 msn 1 = 0",
         .counters = "duplicate_request, rx_atomic_requests, rx_dropped_resources",
         .written = 8},
        {.name = "FETCH_ADD that was never executed repeated",
         .frames = {{.opcode = op::fetch_add, .psn = -5}},
         .counters = "duplicate_request, rx_dropped_resources"},
        {.name = "FETCH_ADD repeated after its result was forgotten",
         .frames = {fetch_and_add, {.opcode = op::fetch_add, .psn = 1, .offset = 8}, fetch_and_add},
         .answers = "ATOMIC ACK +0 msn 1 = 0, ATOMIC ACK +1 msn 2 = 0",
         .counters = "duplicate_request, rx_atomic_requests x2, rx_dropped_resources",
         .written = 16},
        {.name = "READ repeated from its second packet",
         .frames = {read, {.opcode = op::read_request, .psn = 1, .offset = 1024, .length = 1024}},
         .answers = "READ response first +0 msn 1 [1024], READ response last +1 msn 1 [1024], "
                    "READ response only +1 msn 1 [1024]",
         .counters = "duplicate_request, rx_read_requests"},
        false_repeat("READ repeated with another address",
                     {.opcode = op::read_request, .offset = 4096, .length = 2048}),
        false_repeat("READ repeated with another key",
                     {.opcode = op::read_request, .key = Key::read_only, .length = 2048}),
        false_repeat("READ repeated, longer", {.opcode = op::read_request, .length = 4096}),
        false_repeat("READ repeated from its second packet, longer",
                     {.opcode = op::read_request, .psn = 1, .offset = 1024, .length = 2048}),
        false_repeat("READ repeated from its second packet, other address",
                     {.opcode = op::read_request, .psn = 1, .length = 1024}),
        false_repeat("READ repeated, 4 GiB long", {.opcode = op::read_request, .length = 0xffff'ffff}),
        false_repeat("READ repeated as a FETCH_ADD", {.opcode = op::fetch_add}),
        {.name = "two READs at a time, one agreed on",
         .frames = {{.opcode = op::read_request, .length = 64, .hurry = true},
                    {.opcode = op::read_request, .psn = 1, .length = 64}},
         .answers = "READ response only +0 msn 1 [64], NAK invalid +1 msn 1",
         .counters = "resp_remote_invalid_request, rx_read_requests",
         .events = "request error",
         .state = error},
        {.name = "READ, none agreed on",
         .frames = {{.opcode = op::read_request, .length = 64}},
         .answers = "NAK invalid +0 msn 0",
         .counters = "resp_remote_invalid_request",
         .events = "request error",
         .state = error,
         .max_reads = 0},
    };
}

}  // namespace verbline::hostile
