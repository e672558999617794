// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "datapath/transport/credits.h"
#include "datapath/transport/payload.h"
#include "datapath/transport/rc_requester.h"
#include "datapath/transport/rnr_timer.h"
#include "datapath/transport/send_completion.h"

// The requester's handling of ACK, NAK, RNR NAK, READ responses and atomic ACKs (IBTA 9.7.5).

namespace verbline::transport {
namespace {

/// Adaptive retransmission waits at least this long: peers are threads that may have to wait for a core.
constexpr Time shortest_wait = 500 * microsecond;

/// Only for opcodes that carry an AETH.
wire::Aeth aeth_of(const Packet& packet) {
    const auto word = wire::load32(packet.headers, 0);
    return {.kind = static_cast<wire::AethKind>(word >> 29 & 3),
            .value = static_cast<std::uint8_t>(word >> 24 & 0x1f),
            .msn = word & 0xff'ffff};
}

}  // namespace

void RcRequester::receive(const Packet& packet, PollContext& context) noexcept {
    if (failed_) return;
    // An answer to a PSN that is not outstanding is a duplicate or forged.
    const auto distance = packet.psn - acknowledged_;
    if (distance < 0 || packet.psn - next_ >= 0) {
        context.counters.rx_dropped_ack.add();
        if (distance == -1 && packet.operation() == Operation::acknowledge) {
            const auto aeth = aeth_of(packet);
            if (aeth.kind == wire::AethKind::ack) take_credits(aeth);
        }
        return;
    }
    if (packet.operation() == Operation::acknowledge) {
        acknowledge(packet, context);
    } else {
        response(packet, context);
    }
    check_oldest(context);
}

void RcRequester::acknowledge(const Packet& packet, PollContext& context) noexcept {
    const auto aeth = aeth_of(packet);
    switch (aeth.kind) {
        case wire::AethKind::ack:
            take_credits(aeth);
            confirm_through(packet.psn, context);
            // A peer that had the next packet too would have acknowledged that: it may have evicted it after reporting
            // it.
            if (resend_ != nullptr && acknowledged_ == packet.psn + 1) resend_->misses(acknowledged_);
            break;
        case wire::AethKind::rnr_nak: rnr_nak(aeth.value, packet, context); break;
        case wire::AethKind::nak: nak(static_cast<wire::NakCode>(aeth.value), packet, context); break;
        case wire::AethKind::reserved: context.counters.rx_dropped_ack.add(); break;
    }
}

bool RcRequester::confirm_through(wire::Psn psn, PollContext& context) noexcept {
    auto confirmed = acknowledged_;
    bool whole = true;
    while (qp_.send_queue.oldest() != fresh_) {
        const auto& work = at(qp_.send_queue.oldest());
        if (work.status != Status::success) break;  // fails next: its unsent packets cannot be acknowledged
        if (work.is_local()) {                      // also if last: the packet refers to the request behind it
            retire(context, Status::success);
            continue;
        }
        if (psn - confirmed < 0) break;
        if (work.wants_response()) {  // its response was lost: an implied NAK (IBTA 9.7.5.1.1)
            whole = false;
            break;
        }
        const auto behind = work.first + work.packets;
        if (psn - behind < -1) {
            confirmed = psn + 1;
            break;
        }
        confirmed = behind;
        retire(context, Status::success);
    }
    if (confirmed - acknowledged_ > 0) progress(confirmed, context);
    if (whole) return true;
    if (!restarted_just_now(context.now)) {
        context.counters.implied_nak_seq_err.add();
        restart(context);
    }
    return false;
}

void RcRequester::progress(wire::Psn acknowledged, PollContext& context) noexcept {
    measure(acknowledged, context.now);
    flight_ = static_cast<std::uint16_t>(
        std::min<std::int32_t>(flight_ + (acknowledged - acknowledged_), attributes_.window));
    acknowledged_ = acknowledged;
    count_flight(context);
    restarted_ = false;
    if (std::exchange(probing_, false)) probed_ = true;
    probe_owed_ = false;
    if (probed_ && acknowledged_ - probe_end_ >= 0) probed_ = false;
    retries_left_ = attributes_.retries;
    rnr_left_ = attributes_.rnr_retries;
    if (smoothed_ != 0) early_wait_ = std::max(shortest_wait, smoothed_ + 4 * variation_);
    if (cursor_psn_ - acknowledged_ < 0) {
        // The peer acknowledges packets we were about to retransmit: nothing was lost, it was only late (a process
        // without CPU), so the congestion window is restored.
        flight_ = std::max(flight_, flight_before_);
        place_cursor();
    }
    if (resend_ != nullptr) {
        resend_->advance(acknowledged_);
        if (resend_->closed()) give_back_resend(context);
    }
    arm(context.now);
}

SendWork* RcRequester::oldest_packet() noexcept {
    const auto oldest = qp_.send_queue.oldest();
    return oldest == fresh_ ? nullptr : &at(oldest);
}

void RcRequester::take_credits(const wire::Aeth& aeth) noexcept {
    const auto credits = credits_of(aeth.value);
    credits_valid_ = credits.has_value();
    if (credits) credit_limit_ = aeth.msn + *credits;
}

void RcRequester::nak(wire::NakCode code, const Packet& packet, PollContext& context) noexcept {
    if (code == wire::NakCode::psn_sequence) return sequence_nak(packet, context);
    // Everything before this PSN was executed; the request that contains it failed.
    if (!confirm_through(packet.psn + 0xff'ffff, context)) return;
    const auto* const work = oldest_packet();
    if (work == nullptr || packet.psn - acknowledged_ < 0) return;
    switch (code) {
        case wire::NakCode::invalid_request:
        case wire::NakCode::invalid_rd_request:
            context.counters.req_remote_invalid_request.add();
            return fail_oldest(context, Status::remote_invalid_request);
        case wire::NakCode::remote_access:
            context.counters.req_remote_access_errors.add();
            return fail_oldest(context, Status::remote_access_error);
        case wire::NakCode::remote_operational:
            context.counters.req_remote_operation_errors.add();
            return fail_oldest(context, Status::remote_operation_error);
        default: context.counters.rx_dropped_ack.add();
    }
}

void RcRequester::sequence_nak(const Packet& packet, PollContext& context) noexcept {
    context.counters.packet_seq_err.add();
    if (!confirm_through(packet.psn + 0xff'ffff, context) || packet.psn != acknowledged_) return;
    if (qp_.selective && !packet.payload.empty()) {
        if (resend_ == nullptr && cursor_psn_ == next_) {
            resend_ = context.resend.borrow();
            if (resend_ != nullptr) resend_->reset(acknowledged_);
        }
        if (resend_ != nullptr) return resend_->update(packet.psn, packet.payload, next_);
    }
    // Ignore a repeated NAK while the retransmission is on its way.
    if (restarted_just_now(context.now)) return;
    restart(context);
    arm(context.now);
}

void RcRequester::rnr_nak(std::uint8_t timer, const Packet& packet, PollContext& context) noexcept {
    context.counters.rnr_nak_retry_err.add();
    if (!confirm_through(packet.psn + 0xff'ffff, context) || packet.psn != acknowledged_) return;
    if (paused_until_ != 0) return;  // a repetition, for a packet that was in flight
    if (rnr_left_ == 0) {
        context.counters.rnr_retry_exceeded_err.add();
        return fail_oldest(context, Status::rnr_retry_exceeded);
    }
    if (attributes_.rnr_retries != 7) --rnr_left_;  // 7: infinite (IBTA 9.7.5.2.8)
    restart(context);
    paused_until_ = context.now + rnr_delay(timer);
    timeout_at_ = early_at_ = 0;
}

void RcRequester::response(const Packet& packet, PollContext& context) noexcept {
    if (!confirm_through(packet.psn + 0xff'ffff, context)) return;
    auto* const work = oldest_packet();
    if (work == nullptr || packet.psn != acknowledged_ || !work->wants_response()) {
        context.counters.rx_dropped_response.add();
        return;
    }
    if (work->is_read()) return read_data(*work, packet, context);

    const bool atomic = packet.operation() == Operation::atomic_acknowledge;
    if (atomic != work->is_atomic() || !packet.payload.empty()) return fail_oldest(context, Status::bad_response);
    if (atomic) {
        // In host order, as the peer's memory would show it to a program there (IBTA 9.4.5).
        const auto original = std::bit_cast<std::array<std::byte, 8>>(wire::load64(packet.headers, wire::Aeth::size));
        const auto status = scatter(work->segment_list(), 0, original, qp_.pd, qp_.qpn, context.keys);
        if (status != Status::success) {
            context.counters.req_local_errors.add();
            return fail_oldest(context, status);
        }
    }
    if (reads_ > 0) --reads_;
    retire(context, Status::success);
    progress(packet.psn + 1, context);
}

void RcRequester::read_data(SendWork& work, const Packet& packet, PollContext& context) noexcept {
    const std::uint64_t offset = std::uint64_t{work.done} << qp_.mtu_shift;
    const bool ends = work.done + 1 == work.packets;
    const bool part_ends = ends || (work.done + 1) % read_limit() == 0;
    const auto size = ends ? work.length - offset : qp_.mtu();
    const bool fits = packet.operation() == Operation::read_response && packet.traits->last == part_ends &&
                      packet.payload.size() == size;
    if (!fits) return fail_oldest(context, Status::bad_response);
    const auto status = scatter(work.segment_list(), offset, packet.payload, qp_.pd, qp_.qpn, context.keys);
    if (status != Status::success) {
        context.counters.req_local_errors.add();
        return fail_oldest(context, status);
    }
    ++work.done;
    if (part_ends && reads_ > 0) --reads_;
    if (ends) retire(context, Status::success);
    progress(packet.psn + 1, context);
}

void RcRequester::retire(PollContext& context, Status status) noexcept {
    auto& queue = qp_.send_queue;
    complete_send(qp_, at(queue.oldest()), context, status);
    queue.retire();
}

void RcRequester::check_oldest(PollContext& context) noexcept {
    auto& queue = qp_.send_queue;
    while (!failed_ && queue.oldest() != fresh_) {
        const auto& work = at(queue.oldest());
        if (work.status != Status::success) return fail_oldest(context, work.status);
        if (!work.is_local()) return;
        retire(context, Status::success);
    }
}

void RcRequester::fail_oldest(PollContext& context, Status status) noexcept {
    retire(context, status);
    stop(context);
}

}  // namespace verbline::transport
