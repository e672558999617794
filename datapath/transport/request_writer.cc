// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/transport/request_writer.h"

#include <algorithm>

#include "datapath/transport/packet.h"
#include "datapath/transport/payload.h"

namespace verbline::transport {
namespace {

/// Writes headers one after the other and advances `rest`.
struct Cursor {
    wire::MutableBytes rest;

    template <class Header>
    void put(const Header& header) {
        header.emit(rest.first<Header::size>());
        rest = rest.subspan(Header::size);
    }
};

std::uint8_t operation_code(const SendWork& work, bool first, bool last) {
    using enum SendOperation;
    switch (work.operation) {
        case send:
            return first ? (last ? opcode::send_only : opcode::send_first)
                         : (last ? opcode::send_last : opcode::send_middle);
        case send_with_immediate:
            return first ? (last ? opcode::send_only_immediate : opcode::send_first)
                         : (last ? opcode::send_last_immediate : opcode::send_middle);
        case send_with_invalidate:
            return first ? (last ? opcode::send_only_invalidate : opcode::send_first)
                         : (last ? opcode::send_last_invalidate : opcode::send_middle);
        case write:
            return first ? (last ? opcode::write_only : opcode::write_first)
                         : (last ? opcode::write_last : opcode::write_middle);
        case write_with_immediate:
            return first ? (last ? opcode::write_only_immediate : opcode::write_first)
                         : (last ? opcode::write_last_immediate : opcode::write_middle);
        case read: return opcode::read_request;
        case compare_swap: return opcode::compare_swap;
        case fetch_add: return opcode::fetch_add;
        case atomic_write: return opcode::atomic_write;
        case flush: return opcode::flush;
        default: std::unreachable();  // local operations make no packets
    }
}

/// RETH of a READ request for a part of the message: a retry begins where responses ended (IBTA 9.7.5.1.1).
wire::Reth read_part(const QueuePairContext& qp, const SendWork& work, const RequestPacket& packet) {
    const std::uint64_t offset = std::uint64_t{packet.index} << qp.mtu_shift;
    const std::uint64_t part = std::uint64_t{packet.read_packets} << qp.mtu_shift;
    return {.address = work.remote_address + offset,
            .rkey = work.rkey,
            .length = static_cast<std::uint32_t>(std::min<std::uint64_t>(part, work.length - offset))};
}

void put_headers(Cursor& at, const QueuePairContext& qp, const SendWork& work, const RequestPacket& packet,
                 const OpcodeTraits& traits) {
    if (qp.service == Service::xrc) at.put(wire::XrcEth{.srq = work.peer});
    if (qp.service == Service::ud) {
        const bool privileged = (static_cast<std::uint32_t>(work.qkey) >> 31) != 0;  // IBTA 10.2.5
        at.put(wire::Deth{.qkey = privileged ? qp.qkey : work.qkey, .source = qp.qpn});
    }
    switch (traits.operation) {
        case Operation::read_request: at.put(read_part(qp, work, packet)); break;
        case Operation::compare_swap:
        case Operation::fetch_add:
            at.put(wire::AtomicEth{.address = work.remote_address,
                                   .rkey = work.rkey,
                                   .swap_or_add = work.operand[1],
                                   .compare = work.operand[0]});
            break;
        case Operation::flush:
            at.put(wire::Feth{.selectivity = static_cast<wire::FlushSelectivity>(work.flush >> 4),
                              .placement = static_cast<std::uint8_t>(work.flush & 0xf)});
            [[fallthrough]];
        case Operation::atomic_write:
        case Operation::write:
            if (traits.first) {
                at.put(wire::Reth{.address = work.remote_address, .rkey = work.rkey, .length = work.length});
            }
            break;
        default: break;
    }
    if (traits.immediate) at.put(wire::ImmDt{.data = work.immediate});
    if (traits.invalidate) at.put(wire::Ieth{.rkey = static_cast<wire::RKey>(work.immediate)});
}

}  // namespace

std::uint32_t packets_of(const SendWork& work, const QueuePairContext& qp) {
    if (work.is_local()) return 0;
    if (work.is_atomic() || work.operation == SendOperation::flush) return 1;
    return qp.packets(work.length);
}

Written write_request(const QueuePairContext& qp, const SendWork& work, const RequestPacket& packet,
                      PollContext& context, Status& why) noexcept {
    const std::uint64_t offset = std::uint64_t{packet.index} << qp.mtu_shift;
    const bool carries = !work.is_read() && !work.is_atomic() && work.operation != SendOperation::flush;
    const auto left = carries ? work.length - offset : 0;
    const bool last = left <= qp.mtu();
    const auto size = static_cast<std::size_t>(last ? left : qp.mtu());
    const auto code = opcode::of(qp.service, operation_code(work, packet.index == 0, last));
    const auto& traits = opcode_table[code];
    const auto pad = padding_of(size);

    const auto& envelope = work.envelope != nullptr ? *work.envelope : qp.envelope;
    const auto room = context.tx_stage.begin(envelope, wire::Bth::size + traits.headers + size + pad);
    if (room.empty()) return Written::no_room;
    BthWords{.opcode = code,
             .solicited = last && work.has(send_solicited),
             .ack_request = packet.ack_request,
             .pad = pad,
             .pkey = qp.general_services() ? work.pkey : qp.pkey,
             .destination = qp.service == Service::ud ? static_cast<wire::Qpn>(work.peer) : qp.remote,
             .psn = packet.psn}
        .emit(room);
    Cursor at{room.subspan(wire::Bth::size)};
    put_headers(at, qp, work, packet, traits);
    why = gather(work, static_cast<std::uint32_t>(offset), at.rest.first(size), qp, context.keys);
    if (why != Status::success) return Written::local_error;
    for (auto& byte : at.rest.subspan(size)) byte = std::byte{0};
    context.tx_stage.commit(envelope);
    return Written::sent;
}

}  // namespace verbline::transport
