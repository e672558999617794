// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What each BTH opcode means: its transport service, its operation, its place in a message, the headers behind it.
///
/// The upper three bits are the service, the lower five the operation, the same for each service (IBTA volume 1, 9.2.1,
/// table 38; XRC: annex A14; FLUSH and ATOMIC WRITE: annex A19). The packet path looks them up in a constexpr table of
/// 256 entries.

#include <array>
#include <cstddef>
#include <cstdint>

#include "datapath/wire/aeth.h"
#include "datapath/wire/atomic_eth.h"
#include "datapath/wire/deth.h"
#include "datapath/wire/feth.h"
#include "datapath/wire/ieth.h"
#include "datapath/wire/immdt.h"
#include "datapath/wire/reth.h"
#include "datapath/wire/xrceth.h"

namespace verbline::transport {

enum class Service : std::uint8_t { rc = 0, uc = 1, rd = 2, ud = 3, congestion = 4, xrc = 5 };

enum class Operation : std::uint8_t {
    none,  ///< not an opcode, or one of an unsupported service (RD)
    send,
    write,
    read_request,
    read_response,
    acknowledge,
    atomic_acknowledge,
    compare_swap,
    fetch_add,
    flush,
    atomic_write,
    congestion_notification,
};

/// The lower five bits. A new one: its traits below, a header in datapath/wire, SendOperation (work.h), requester and
/// responder, counters; then the verbs' names for it. apps/EXTENDING.md has them in order.
namespace opcode {
constexpr std::uint8_t send_first = 0x00, send_middle = 0x01, send_last = 0x02, send_last_immediate = 0x03,
                       send_only = 0x04, send_only_immediate = 0x05, write_first = 0x06, write_middle = 0x07,
                       write_last = 0x08, write_last_immediate = 0x09, write_only = 0x0a, write_only_immediate = 0x0b,
                       read_request = 0x0c, read_response_first = 0x0d, read_response_middle = 0x0e,
                       read_response_last = 0x0f, read_response_only = 0x10, acknowledge = 0x11,
                       atomic_acknowledge = 0x12, compare_swap = 0x13, fetch_add = 0x14, send_last_invalidate = 0x16,
                       send_only_invalidate = 0x17, flush = 0x1c, atomic_write = 0x1d;
constexpr std::uint8_t congestion_notification = 0x81;  ///< whole opcode (A17.9)

constexpr std::uint8_t of(Service service, std::uint8_t operation) {
    return static_cast<std::uint8_t>(static_cast<unsigned>(service) << 5 | operation);
}
}  // namespace opcode

struct OpcodeTraits {
    Service service{};
    Operation operation = Operation::none;
    bool first = false, last = false;  ///< position in its message; both: the only packet
    bool immediate = false, invalidate = false;
    std::uint8_t headers = 0;  ///< bytes between BTH and payload

    constexpr bool is_request() const {
        return operation != Operation::none && operation != Operation::read_response &&
               operation != Operation::acknowledge && operation != Operation::atomic_acknowledge;
    }
};

constexpr OpcodeTraits traits_of_opcode(std::uint8_t whole) {
    using enum Operation;
    OpcodeTraits t{.service = static_cast<Service>(whole >> 5)};
    if (whole == opcode::congestion_notification) {
        t.operation = congestion_notification;
        t.first = t.last = true;
        return t;
    }
    const bool reliable = t.service == Service::rc || t.service == Service::xrc;
    const bool connected = reliable || t.service == Service::uc;
    const auto low = static_cast<std::uint8_t>(whole & 0x1f);
    const auto is = [&](Operation operation, bool first, bool last, std::size_t headers) {
        t.operation = operation, t.first = first, t.last = last, t.headers = static_cast<std::uint8_t>(headers);
    };
    constexpr auto imm = wire::ImmDt::size, reth = wire::Reth::size, aeth = wire::Aeth::size;
    if (connected) {
        switch (low) {
            case opcode::send_first: is(send, true, false, 0); break;
            case opcode::send_middle: is(send, false, false, 0); break;
            case opcode::send_last: is(send, false, true, 0); break;
            case opcode::send_last_immediate: is(send, false, true, imm), t.immediate = true; break;
            case opcode::write_first: is(write, true, false, reth); break;
            case opcode::write_middle: is(write, false, false, 0); break;
            case opcode::write_last: is(write, false, true, 0); break;
            case opcode::write_last_immediate: is(write, false, true, imm), t.immediate = true; break;
            case opcode::write_only: is(write, true, true, reth); break;
            case opcode::write_only_immediate: is(write, true, true, reth + imm), t.immediate = true; break;
            default: break;
        }
    }
    if (connected || t.service == Service::ud) {
        if (low == opcode::send_only) is(send, true, true, 0);
        if (low == opcode::send_only_immediate) is(send, true, true, imm), t.immediate = true;
    }
    if (reliable) {
        switch (low) {
            case opcode::read_request: is(read_request, true, true, reth); break;
            case opcode::read_response_first: is(read_response, true, false, aeth); break;
            case opcode::read_response_middle: is(read_response, false, false, 0); break;
            case opcode::read_response_last: is(read_response, false, true, aeth); break;
            case opcode::read_response_only: is(read_response, true, true, aeth); break;
            case opcode::acknowledge: is(acknowledge, true, true, aeth); break;
            case opcode::atomic_acknowledge: is(atomic_acknowledge, true, true, aeth + wire::AtomicAckEth::size); break;
            case opcode::compare_swap: is(compare_swap, true, true, wire::AtomicEth::size); break;
            case opcode::fetch_add: is(fetch_add, true, true, wire::AtomicEth::size); break;
            case opcode::send_last_invalidate: is(send, false, true, wire::Ieth::size), t.invalidate = true; break;
            case opcode::send_only_invalidate: is(send, true, true, wire::Ieth::size), t.invalidate = true; break;
            case opcode::flush: is(flush, true, true, wire::Feth::size + reth); break;
            case opcode::atomic_write: is(atomic_write, true, true, reth); break;
            default: break;
        }
    }
    if (t.operation == none) return t;
    if (t.service == Service::ud) t.headers += wire::Deth::size;
    if (t.service == Service::xrc && t.is_request()) t.headers += wire::XrcEth::size;
    return t;
}

constexpr auto opcode_table = [] {
    std::array<OpcodeTraits, 256> table{};
    for (unsigned i = 0; i < table.size(); ++i) table[i] = traits_of_opcode(static_cast<std::uint8_t>(i));
    return table;
}();

}  // namespace verbline::transport
