// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "datapath/memory/guarded.h"
#include "datapath/transport/credits.h"
#include "datapath/transport/rc_responder.h"
#include "datapath/transport/selective_ack.h"

// What a responder sends: READ responses, atomic answers, ACKs and NAKs (IBTA 9.7.5).

namespace verbline::transport {

unsigned RcResponder::transmit(PollContext& context, unsigned budget) noexcept {
    unsigned sent = 0;
    while (pending_ && sent < budget) {
        auto* const response = responses_.pending();
        if (response == nullptr) {
            pending_ = false;
            break;
        }
        switch (send_response(*response, context)) {
            case Sent::yes: ++sent; break;
            case Sent::no_room: return sent;
            case Sent::no_memory: abandon_response(*response, context); break;
        }
    }
    // An ACK of a later request must not overtake pending responses: it would be an implied NAK for them.
    if (!pending_ && answer_owed_ && sent < budget && send_answer(context)) ++sent;
    return sent;
}

/// Handles a READ whose memory has become inaccessible since the request was accepted. If it was fully answered before,
/// this is a duplicate: the peer has the data and may have invalidated the key, so the request is silently dropped
/// (IBTA 9.7.5.1.2). Otherwise a remote access NAK replaces the response.
void RcResponder::abandon_response(Response& response, PollContext& context) noexcept {
    response.end = response.next;
    if (response.answered) return context.counters.rx_dropped_repeated_read.add();
    expected_ = response.first + response.next;
    refuse(wire::NakCode::remote_access, AsyncEventKind::qp_access_error, context);
    pending_ = false;
}

RcResponder::Sent RcResponder::send_response(Response& response, PollContext& context) noexcept {
    const bool read = response.kind == Response::Kind::read, atomic = response.kind == Response::Kind::atomic;
    const std::uint64_t offset = std::uint64_t{response.next} << qp_.mtu_shift;
    const bool first = !read || response.next == response.part_begin, last = response.next + 1 == response.end;
    const auto size = read ? std::min<std::uint64_t>(response.length - offset, qp_.mtu()) : 0;
    const auto operation = atomic          ? opcode::atomic_acknowledge
                           : first && last ? opcode::read_response_only
                           : first         ? opcode::read_response_first
                           : last          ? opcode::read_response_last
                                           : opcode::read_response_middle;
    const auto code = opcode::of(qp_.service, operation);
    const auto headers = opcode_table[code].headers;
    const auto pad = padding_of(size);
    const auto room =
        context.tx_stage.begin(qp_.envelope, wire::Bth::size + headers + size + pad, TxStage::Use::answer);
    if (room.empty()) return Sent::no_room;
    BthWords{
        .opcode = code, .pad = pad, .pkey = qp_.pkey, .destination = qp_.remote, .psn = response.first + response.next}
        .emit(room);
    auto at = room.subspan(wire::Bth::size);
    if (headers != 0) {
        wire::Aeth{.value = credits(), .msn = response.msn}.emit(at.first<wire::Aeth::size>());
        if (atomic) wire::store64(at, wire::Aeth::size, response.original);
        at = at.subspan(headers);
    }
    if (size != 0) {
        // Checked again: the region may have been deregistered since the request was accepted.
        const auto from = context.keys.resolve(response.rkey, response.pd, qp_.qpn, response.address + offset, size,
                                               memory::Access::remote_read);
        if (!from || !memory::guarded_copy(at.data(), *from, size)) return Sent::no_memory;
        std::ranges::fill(at.subspan(size), std::byte{0});
    }
    context.tx_stage.commit(qp_.envelope);
    if (++response.next == response.packets) response.answered = true;
    return Sent::yes;
}

std::uint8_t RcResponder::credits() const noexcept {
    if (!qp_.produce_credits || !qp_.receive_queue.exists()) return wire::credits_invalid;
    return credit_code(qp_.receive_queue.waiting());
}

bool RcResponder::send_answer(PollContext& context) noexcept {
    wire::Aeth aeth{.value = credits(), .msn = msn_};
    auto psn = last_message_;
    SelectiveAck map;
    const bool gap = !fatal_ && !rnr_owed_ && gap_owed_;
    if (fatal_) {
        aeth.kind = wire::AethKind::nak, aeth.value = static_cast<std::uint8_t>(fatal_->code), psn = expected_;
    } else if (rnr_owed_) {
        aeth.kind = wire::AethKind::rnr_nak, aeth.value = attributes_.rnr_timer, psn = expected_;
    } else if (gap) {
        aeth.kind = wire::AethKind::nak, aeth.value = static_cast<std::uint8_t>(wire::NakCode::psn_sequence);
        psn = expected_;
        if (qp_.selective && window_ != nullptr) {
            const auto through = window_->highest() - expected_;
            for (std::int32_t distance = 1; distance <= through; ++distance) {
                if (window_->has(expected_ + static_cast<std::uint32_t>(distance))) {
                    map.set(static_cast<std::uint32_t>(distance) - 1);
                }
            }
        }
    }
    if (!write_aeth(psn, aeth, map.bytes(), context)) return false;
    answer_owed_ = gap_owed_ = false;
    unanswered_ = 0;
    if (gap) gap_reported_ = true, context.counters.tx_seq_naks.add();
    if (rnr_owed_) context.counters.tx_rnr_naks.add();
    if (!gap && !rnr_owed_ && !fatal_) context.counters.tx_acks.add();
    rnr_owed_ = false;
    if (fatal_) {
        event_ = fatal_->event;
        failed_ = true;
    }
    return true;
}

bool RcResponder::write_aeth(wire::Psn psn, const wire::Aeth& aeth, wire::Bytes map, PollContext& context) noexcept {
    const auto size = wire::Bth::size + wire::Aeth::size + map.size();
    const auto room = context.tx_stage.begin(qp_.envelope, size, TxStage::Use::answer);
    if (room.empty()) return false;
    BthWords{
        .opcode = opcode::of(qp_.service, opcode::acknowledge), .pkey = qp_.pkey, .destination = qp_.remote, .psn = psn}
        .emit(room);
    aeth.emit(room.subspan(wire::Bth::size).first<wire::Aeth::size>());
    std::ranges::copy(map, room.subspan(wire::Bth::size + wire::Aeth::size).begin());
    context.tx_stage.commit(qp_.envelope);
    return true;
}

}  // namespace verbline::transport
