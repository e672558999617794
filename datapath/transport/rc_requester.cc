// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/transport/rc_requester.h"

#include <algorithm>
#include <utility>

#include "datapath/transport/local_operation.h"
#include "pmd/base/tunables.h"

// Sending, sending again, and time. Answers are in rc_requester_answers.cc.

namespace verbline::transport {
namespace {

static_assert(Flight::limit <= ResendSet::size);

/// How long adaptive retransmission waits before a round trip has been measured, and after a probe was answered.
constexpr Time first_wait = 4 * millisecond, shortest_probed_wait = 100 * microsecond;

/// Assumed round-trip time until one has been measured.
constexpr Time unmeasured_round_trip = 200 * microsecond;

/// Slow start: after connecting, and after a timeout, begin with so many packets and double them every round trip. CNPs
/// need a round trip to take effect, and many connections may start at once.
constexpr std::uint16_t first_flight = 32;

constexpr Time timeout_of(std::uint8_t exponent) {
    return exponent == 0 ? 0 : Time{4096} << exponent;  // IBTA 9.7.6.1.3
}

}  // namespace

void RcRequester::start(const Attributes& attributes) noexcept {
    attributes_ = attributes;
    attributes_.window = std::clamp<std::uint16_t>(attributes.window, 2, ResendSet::size);
    attributes_.max_reads = std::max<std::uint8_t>(attributes.max_reads, 1);
    acknowledged_ = next_ = cursor_psn_ = attributes.first;
    cursor_ = fresh_ = qp_.send_queue.oldest();
    retries_left_ = attributes.retries, rnr_left_ = attributes.rnr_retries;
    early_wait_ = first_wait;
    flight_ = std::min(first_flight, attributes_.window);
}

void RcRequester::set_retries(const Attributes& attributes) noexcept {
    attributes_.timeout = attributes.timeout;
    attributes_.retries = retries_left_ = attributes.retries;
    attributes_.rnr_retries = rnr_left_ = attributes.rnr_retries;
}

unsigned RcRequester::transmit(PollContext& context, unsigned budget) noexcept {
    if (failed_ || context.now < paused_until_) return 0;
    paused_until_ = 0;
    unsigned sent = 0;
    while (sent < budget && step(context) == Step::sent) ++sent;
    if (sent != 0 && timeout_at_ == 0 && early_at_ == 0) arm(context.now);
    return sent;
}

RcRequester::Step RcRequester::step(PollContext& context) noexcept {
    if (probe_owed_) {
        if (resend(acknowledged_, context) != Step::sent) return Step::nothing;
        probe_owed_ = false;
        return Step::sent;
    }
    if (resend_ != nullptr) {
        if (const auto psn = resend_->front()) return resend_missing(*psn, context);
    }
    if (cursor_ == qp_.send_queue.posted()) return Step::nothing;
    auto& work = at(cursor_);
    if (work.status != Status::success) return Step::nothing;
    if (cursor_ == fresh_) {
        if (!may_begin(work)) return Step::nothing;
        begin(work);
        ++fresh_;
    }
    if (work.status != Status::success) {
        check_oldest(context);
        return Step::nothing;
    }
    return work.is_local() ? execute_local(work, context) : send_packet(work, context);
}

bool RcRequester::may_begin(const SendWork& work) const noexcept {
    if (draining_) return false;
    if (work.has(send_fence) && reads_ != 0) return false;
    if (credits_valid_ && work.consumes_receive() && in_flight() != 0) {
        // Without credits one request may be sent when nothing else is in flight: its ACK brings new credits (IBTA
        // 9.7.7.2.5).
        return wire::Psn(credit_limit_) - wire::Psn(sequence_ + 1) >= 0;
    }
    return true;
}

void RcRequester::begin(SendWork& work) noexcept {
    work.first = cursor_psn_;
    work.packets = packets_of(work, qp_);
    work.done = 0;
    if (!work.is_local()) work.sequence = ++sequence_;
    const bool eight_bytes = work.is_atomic() || work.operation == SendOperation::atomic_write;
    if (eight_bytes && work.length != 8) work.status = Status::local_length_error;
    cursor_packet_ = 0;
}

RcRequester::Step RcRequester::execute_local(SendWork& work, PollContext& context) noexcept {
    if (!work.executed) {
        work.executed = true;
        work.status = transport::execute_local(work, qp_, context.keys);
        if (work.status != Status::success) context.counters.req_local_errors.add();
    }
    if (work.status == Status::success) ++cursor_;
    check_oldest(context);
    return work.status == Status::success ? Step::sent : Step::nothing;
}

std::uint32_t RcRequester::read_part(std::uint32_t index, const SendWork& work) const noexcept {
    return std::min(read_limit() - index % read_limit(), work.packets - index);
}

bool RcRequester::wants_ack(const SendWork& work, bool last, const PollContext& context) const noexcept {
    if (unrequested_ + 1u >= std::min<std::uint32_t>(tunables::ack_interval, attributes_.window / 4 + 1)) return true;
    if (in_flight() + 1u >= flight_ || credits_valid_ || !context.flight.has_room(in_flight() + 1u, 2)) return true;
    if (!last) return false;
    // Else the next request carries the AckReq bit, if it can follow at once.
    if (cursor_ + 1 == qp_.send_queue.posted() || draining_) return true;
    const auto& next = at(cursor_ + 1);
    return next.has(send_fence) || next.is_local() || next.wants_response() || work.has(send_solicited);
}

RcRequester::Step RcRequester::send_packet(SendWork& work, PollContext& context) noexcept {
    if (work.wants_response() && reads_ >= attributes_.max_reads) return Step::nothing;
    const auto psns = work.is_read() ? read_part(cursor_packet_, work) : 1;
    const auto ahead = static_cast<std::uint32_t>(cursor_psn_ - acknowledged_);
    if (ahead + psns > std::max<std::uint32_t>(flight_, ahead == 0 ? psns : 0)) return Step::nothing;
    // Only new packets add to those in flight.
    if (cursor_psn_ == next_ && ahead != 0 && !context.flight.has_room(ahead, psns)) {
        context.flight.refuse();
        return Step::nothing;
    }

    const bool ends = cursor_packet_ + psns == work.packets;
    const RequestPacket packet{.index = cursor_packet_,
                               .psn = cursor_psn_,
                               .ack_request = work.wants_response() || wants_ack(work, ends, context),
                               .read_packets = psns};
    Status why{};
    switch (write_request(qp_, work, packet, context, why)) {
        case Written::no_room: return Step::nothing;
        case Written::local_error:
            context.counters.req_local_errors.add();
            work.status = why;
            check_oldest(context);
            return Step::nothing;
        case Written::sent: break;
    }
    unrequested_ = packet.ack_request ? 0 : unrequested_ + 1;
    if (work.wants_response()) ++reads_;
    cursor_psn_ = cursor_psn_ + psns;
    cursor_packet_ += psns;
    if (cursor_psn_ - next_ > 0) {
        next_ = cursor_psn_;
        count_flight(context);
        if (sampled_at_ == 0 && packet.ack_request) sampled_at_ = context.now, sample_ = packet.psn;
    } else {
        context.counters.tx_retransmitted_packets.add();
    }
    if (ends) ++cursor_, cursor_packet_ = 0;
    return Step::sent;
}

RcRequester::Step RcRequester::resend_missing(wire::Psn psn, PollContext& context) noexcept {
    const auto step = resend(psn, context);
    if (step == Step::sent) {
        resend_->pop(next_);
        context.counters.tx_selective_packets.add();
    }
    return step;
}

RcRequester::Step RcRequester::resend(wire::Psn psn, PollContext& context) noexcept {
    sampled_at_ = 0;  // an answer might be to the first sending (Karn)
    for (auto index = qp_.send_queue.oldest(); index != fresh_; ++index) {
        auto& work = at(index);
        const auto place = static_cast<std::uint32_t>(psn - work.first);
        if (work.is_local() || psn - work.first < 0 || place >= work.packets) continue;
        // A READ is requested again only at the start of a part, or where its responses broke off; other PSNs are
        // response packets.
        if (work.is_read() && place != work.done && place % read_limit() != 0) return Step::sent;
        Status why{};
        const RequestPacket packet{.index = place,
                                   .psn = psn,
                                   .ack_request = true,
                                   .read_packets = work.is_read() ? read_part(place, work) : 1};
        const auto written = write_request(qp_, work, packet, context, why);
        if (written == Written::local_error) work.status = why;
        if (written != Written::sent) return Step::nothing;
        context.counters.tx_retransmitted_packets.add();
        return Step::sent;
    }
    return Step::sent;
}

void RcRequester::restart(PollContext& context) noexcept {
    // Restarted without any progress: the path may be so congested that the first packets are always lost.
    if (restarted_) {
        flight_ = std::max<std::uint16_t>(flight_ / 4, 1);
    } else {
        flight_before_ = flight_;
    }
    restarted_ = true;
    restarted_at_ = context.now;
    restarted_psn_ = acknowledged_;
    sampled_at_ = 0;
    probe_owed_ = probing_ = probed_ = false;
    give_back_resend(context);
    place_cursor();
}

void RcRequester::place_cursor() noexcept {
    reads_ = 0;
    cursor_ = qp_.send_queue.oldest();
    cursor_psn_ = acknowledged_;
    cursor_packet_ = cursor_ == fresh_ ? 0 : static_cast<std::uint32_t>(acknowledged_ - at(cursor_).first);
}

void RcRequester::count_flight(PollContext& context) noexcept {
    const auto now = failed_ ? 0 : in_flight();
    context.flight.change(std::exchange(counted_, now), now);
}

void RcRequester::give_back_resend(PollContext& context) noexcept {
    if (resend_ != nullptr) context.resend.give_back(std::exchange(resend_, nullptr));
}

void RcRequester::arm(Time now) noexcept {
    if (in_flight() == 0) {
        timeout_at_ = early_at_ = 0;
        return;
    }
    const auto timeout = timeout_of(attributes_.timeout);
    timeout_at_ = timeout == 0 ? 0 : now + timeout;
    const auto wait = probed_ ? std::max(shortest_probed_wait, 2 * round_trips()) : early_wait_;
    early_at_ = attributes_.adaptive ? now + wait : 0;
}

Time RcRequester::deadline() const noexcept {
    if (failed_) return 0;
    if (paused_until_ != 0) return paused_until_;
    if (timeout_at_ == 0 || early_at_ == 0) return timeout_at_ + early_at_;
    return std::min(timeout_at_, early_at_);
}

void RcRequester::on_time(PollContext& context) noexcept {
    if (failed_ || paused_until_ != 0) return;  // `transmit` checks whether the RNR wait is over
    if (timeout_at_ != 0 && context.now >= timeout_at_) {
        context.counters.local_ack_timeout_err.add();
        if (retries_left_ == 0) {
            context.counters.retry_exceeded_err.add();
            return fail_oldest(context, Status::retry_exceeded);
        }
        --retries_left_;
        flight_ = std::min(first_flight, attributes_.window);
        restart(context);
        arm(context.now);
    } else if (early_at_ != 0 && context.now >= early_at_) {
        context.counters.roce_adp_retrans.add();
        if (probing_ || probed_) {
            restart(context);
        } else {
            probe_owed_ = probing_ = true;
            probe_end_ = next_;
        }
        early_wait_ *= 2;
        early_at_ = context.now + early_wait_;
    }
}

Time RcRequester::round_trips() const noexcept {
    return smoothed_ + 4 * variation_;
}

bool RcRequester::restarted_just_now(Time now) const noexcept {
    const auto on_its_way = smoothed_ != 0 ? round_trips() : unmeasured_round_trip;
    return restarted_ && restarted_psn_ == acknowledged_ && now - restarted_at_ < on_its_way;
}

void RcRequester::measure(wire::Psn acknowledged, Time now) noexcept {
    if (sampled_at_ == 0 || acknowledged - sample_ <= 0) return;
    const auto sample = now - std::exchange(sampled_at_, 0);
    if (smoothed_ == 0) {
        smoothed_ = sample, variation_ = sample / 2;
    } else {  // RFC 6298, 2
        variation_ += (std::abs(smoothed_ - sample) - variation_) / 4;
        smoothed_ += (sample - smoothed_) / 8;
    }
}

void RcRequester::flush(PollContext& context) noexcept {
    stop(context);
    while (busy()) retire(context, Status::flushed);
    cursor_ = fresh_ = qp_.send_queue.oldest();
}

void RcRequester::stop(PollContext& context) noexcept {
    give_back_resend(context);
    paused_until_ = timeout_at_ = early_at_ = 0;
    failed_ = true;
    count_flight(context);
}

}  // namespace verbline::transport
