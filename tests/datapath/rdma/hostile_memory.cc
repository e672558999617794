// SPDX-License-Identifier: BSD-3-Clause
#include <utility>

#include "tests/datapath/rdma/hostile_attack.h"

namespace verbline::hostile {

using enum transport::QueuePairState;
using transport::QueuePairType, transport::SendOperation;

// Keys, ranges, rights and protection domains; and memory that is not there.

namespace {

/// What every refused access comes to (IBTA 9.7.5.2.4): the peer hears it, our user hears it, and that was it.
Row refused(std::string_view name, const Frame& frame) {
    return {.name = name,
            .frames = {frame},
            .answers = "NAK access +0 msn 0",
            .counters = "resp_remote_access_errors",
            .events = "access error",
            .state = error};
}
Row invalid(std::string_view name, const Frame& frame) {
    return {.name = name,
            .frames = {frame},
            .answers = "NAK invalid +0 msn 0",
            .counters = "resp_remote_invalid_request",
            .events = "request error",
            .state = error};
}
Row with_access(Row row, memory::Access access) {
    row.access = access;
    return row;
}
Row with_receive(Row row, std::string_view completions) {
    row.receives = 1;
    row.completions = completions;
    return row;
}

Row with_send(Row row, std::string_view completions) {
    row.written = 4096 + 64;  // the data has come before the key is judged
    return with_receive(std::move(row), completions);
}

constexpr std::uint64_t top = ~std::uint64_t{31};  ///< 32 bytes below the end of the address space

}  // namespace

std::vector<Row> memory_rows() {
    using memory::Access;
    return {
        refused("WRITE, unknown key", {.opcode = op::write_only, .payload = 64, .key = Key::unknown}),
        refused("WRITE, key of a region that is gone", {.opcode = op::write_only, .payload = 64, .key = Key::stale}),
        refused("WRITE, key of another protection domain",
                {.opcode = op::write_only, .payload = 64, .key = Key::other_domain}),
        refused("WRITE, window that is not bound", {.opcode = op::write_only, .payload = 64, .key = Key::window}),
        refused("WRITE, begins before the region", {.opcode = op::write_only, .payload = 64, .offset = -1}),
        refused("WRITE, ends behind the region", {.opcode = op::write_only, .payload = 64, .offset = 8192 - 63}),
        refused("WRITE, wraps around the address space", {.opcode = op::write_only, .payload = 64, .address = top}),
        refused("WRITE, of which only the last packet is outside",
                {.opcode = op::write_first, .payload = 1024, .offset = 8192 - 1024, .length = 1025}),
        refused("WRITE, to read-only memory", {.opcode = op::write_only, .payload = 64, .key = Key::read_only}),
        refused("WRITE, page is gone", {.opcode = op::write_only, .payload = 64, .key = Key::gone}),
        with_access(invalid("WRITE, not enabled", {.opcode = op::write_only, .payload = 64}), Access::remote_read),
        with_receive(refused("WRITE with immediate, unknown key",
                             {.opcode = op::write_only_immediate, .payload = 64, .key = Key::unknown}),
                     "receive: work request flushed"),
        refused("READ, unknown key", {.opcode = op::read_request, .key = Key::unknown, .length = 64}),
        refused("READ, key of a region that is gone", {.opcode = op::read_request, .key = Key::stale, .length = 64}),
        refused("READ, key of another protection domain",
                {.opcode = op::read_request, .key = Key::other_domain, .length = 64}),
        refused("READ, begins before the region", {.opcode = op::read_request, .offset = -8, .length = 64}),
        refused("READ, ends behind the region", {.opcode = op::read_request, .offset = 1, .length = 8192}),
        refused("READ, wraps around the address space", {.opcode = op::read_request, .address = top, .length = 64}),
        refused("READ, of write-only memory", {.opcode = op::read_request, .key = Key::write_only, .length = 64}),
        with_access(invalid("READ, not enabled", {.opcode = op::read_request, .length = 64}), Access::remote_write),
        {.name = "READ, page is gone",
         .frames = {{.opcode = op::read_request, .key = Key::gone, .length = 64}},
         .answers = "NAK access +0 msn 1",
         .counters = "resp_remote_access_errors, rx_read_requests",
         .events = "access error",
         .state = error},
        {.name = "READ, second half is gone",
         .frames = {{.opcode = op::read_request, .key = Key::half_gone, .offset = 4096 - 2048, .length = 4096}},
         .answers = "READ response first +0 msn 1 [1024], READ response middle +1 [1024], NAK access +2 msn 1",
         .counters = "resp_remote_access_errors, rx_read_requests",
         .events = "access error",
         .state = error},
        {.name = "READ of nothing, unknown key",
         .frames = {{.opcode = op::read_request, .key = Key::unknown}},
         .answers = "READ response only +0 msn 1",
         .counters = "rx_read_requests"},
        {.name = "WRITE of nothing, unknown key",
         .frames = {{.opcode = op::write_only, .key = Key::unknown}},
         .answers = "ACK +0 msn 1",
         .counters = "rx_write_requests"},
        refused("FETCH_ADD, unknown key", {.opcode = op::fetch_add, .key = Key::unknown}),
        refused("FETCH_ADD, key of another protection domain", {.opcode = op::fetch_add, .key = Key::other_domain}),
        refused("FETCH_ADD, no right to it", {.opcode = op::fetch_add, .key = Key::write_only}),
        refused("FETCH_ADD, ends behind the region", {.opcode = op::fetch_add, .offset = 8192}),
        refused("FETCH_ADD, page is gone", {.opcode = op::fetch_add, .key = Key::gone}),
        invalid("FETCH_ADD, not aligned", {.opcode = op::fetch_add, .offset = 4}),
        invalid("CMP_SWAP, not aligned", {.opcode = op::compare_swap, .offset = 1}),
        refused("CMP_SWAP, to read-only memory", {.opcode = op::compare_swap, .key = Key::read_only}),
        with_access(invalid("CMP_SWAP, not enabled", {.opcode = op::compare_swap}), Access::remote_write),
        invalid("ATOMIC WRITE, not aligned", {.opcode = op::atomic_write, .payload = 8, .offset = 4}),
        invalid("ATOMIC WRITE, of sixteen bytes", {.opcode = op::atomic_write, .payload = 16}),
        invalid("ATOMIC WRITE, says eight bytes and has four", {.opcode = op::atomic_write, .payload = 4, .length = 8}),
        refused("ATOMIC WRITE, to read-only memory", {.opcode = op::atomic_write, .payload = 8, .key = Key::read_only}),
        refused("ATOMIC WRITE, page is gone", {.opcode = op::atomic_write, .payload = 8, .key = Key::gone}),
        refused("FLUSH, no right to it", {.opcode = op::flush, .length = 64}),
        refused("FLUSH, unknown key", {.opcode = op::flush, .key = Key::unknown, .length = 64}),
        invalid("FLUSH, reserved selectivity", {.opcode = op::flush, .length = 64, .selectivity = 2}),
        invalid("FLUSH, reserved placement", {.opcode = op::flush, .length = 64, .placement = 4}),
        invalid("FLUSH, to nowhere", {.opcode = op::flush, .length = 64, .placement = 0}),
        with_send(refused("SEND with invalidate, of a region", {.opcode = op::send_only_invalidate, .payload = 64}),
                  "receive: local access error"),
        with_send(refused("SEND with invalidate, unknown key",
                          {.opcode = op::send_only_invalidate, .payload = 64, .key = Key::unknown}),
                  "receive: local access error"),
        with_send(refused("SEND with invalidate, window that is not bound",
                          {.opcode = op::send_only_invalidate, .payload = 64, .key = Key::window}),
                  "receive: local access error"),
    };
}

}  // namespace verbline::hostile
