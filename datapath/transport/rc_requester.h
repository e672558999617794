// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The requester of a reliable connection (RC, and the initiator of XRC): IBTA volume 1, 9.7.
///
///          oldest                 acknowledged            next                 window
///     ───────┬─────────────────────────┬───────────────────┬────────────────────┬──────> PSN
///     retired│ sent; the peer has it   │ sent, unconfirmed │ not sent yet       │ must wait
///            └ its WQE is not complete └──── the cursor is in here while packets are sent again
///
/// Recovery is go-back-N: NAKs, implied NAKs, timeouts and RNR NAKs all call `restart`, which sets the cursor to the
/// first unacknowledged packet; an answer that acknowledges packets beyond the cursor moves it forward. Between ends
/// that agreed on selective_ack.h, packets that have arrived are not sent again.
///
/// Loss at the end of a message is noticed only by the ACK timeout, which users set to seconds. So the round-trip time
/// is measured, and after several round trips without an answer packets are retransmitted early (adaptive
/// retransmission in hardware's terms); only full timeouts count against the retry limit. The first early
/// retransmission is a single packet, a probe, so that a peer that merely was not scheduled for a while is not flooded.
/// If its answer leaves packets unacknowledged, and no more arrives for two round trips, those count as lost.
///
/// A pure state machine: packets, requests and time in; packets and completions out through `PollContext`. Owned by one
/// shard.

#include <algorithm>
#include <cstdint>
#include <optional>

#include "datapath/transport/packet.h"
#include "datapath/transport/poll_context.h"
#include "datapath/transport/queue_pair_context.h"
#include "datapath/transport/request_writer.h"
#include "pmd/base/time.h"

namespace verbline::transport {

class RcRequester {
public:
    struct Attributes {
        wire::Psn first;               ///< of the first request
        std::uint8_t timeout = 14;     ///< 4.096 us * 2^n, 5 bits; 0: infinite
        std::uint8_t retries = 7;      ///< timeouts without progress, 3 bits
        std::uint8_t rnr_retries = 7;  ///< 7: infinite
        std::uint8_t max_reads = 1;    ///< READs and atomics outstanding at a time
        std::uint16_t window = 1024;   ///< packets in flight, at most 1024
        bool adaptive = true;          ///< adaptive retransmission, before the timeout
    };

    explicit RcRequester(QueuePairContext& qp) : qp_(qp) {}

    void start(const Attributes& attributes) noexcept;
    /// Changes timeout, retries and rnr_retries while connected, and restarts their count.
    void set_retries(const Attributes& attributes) noexcept;

    /// An ACK, NAK, READ response or atomic answer.
    void receive(const Packet& packet, PollContext& context) noexcept;
    /// Sends up to `budget` packets; returns how many. 0: nothing to send, or waiting for an answer, a timer or room in
    /// the transmit stage.
    unsigned transmit(PollContext& context, unsigned budget) noexcept;
    /// Call at or after `deadline`.
    void on_time(PollContext& context) noexcept;
    /// When `on_time` or, after an RNR NAK, `transmit` must be called; 0: never.
    Time deadline() const noexcept;

    /// True after an unrecoverable error: the caller moves the queue pair to the error state.
    bool failed() const { return failed_; }
    /// Completes everything that is posted as flushed.
    void flush(PollContext& context) noexcept;
    /// Returns objects to their pools and stops the timers; posted requests stay.
    void stop(PollContext& context) noexcept;

    /// While on, no further request is begun; those begun are finished (SQD).
    void drain(bool on) noexcept { draining_ = on; }
    bool drained() const noexcept { return qp_.send_queue.oldest() == fresh_; }
    /// True if posted requests have not completed.
    bool busy() const noexcept { return qp_.send_queue.oldest() != qp_.send_queue.posted(); }

private:
    enum class Step : std::uint8_t { sent, nothing };

    SendWork& at(std::uint32_t index) const { return qp_.send_queue.at(index); }
    std::uint32_t in_flight() const { return static_cast<std::uint32_t>(next_ - acknowledged_); }

    // Sending.
    Step step(PollContext& context) noexcept;
    bool may_begin(const SendWork& work) const noexcept;
    void begin(SendWork& work) noexcept;
    Step send_packet(SendWork& work, PollContext& context) noexcept;
    Step execute_local(SendWork& work, PollContext& context) noexcept;
    Step resend_missing(wire::Psn psn, PollContext& context) noexcept;
    Step resend(wire::Psn psn, PollContext& context) noexcept;
    bool wants_ack(const SendWork& work, bool last, const PollContext& context) const noexcept;
    /// Updates the shard's count of packets in flight (flight.h).
    void count_flight(PollContext& context) noexcept;
    /// Most response packets of one READ request packet: long READs are split, so that the packets in flight stay
    /// bounded.
    std::uint32_t read_limit() const noexcept { return std::min(attributes_.window / 2u, 256u); }
    std::uint32_t read_part(std::uint32_t index, const SendWork& work) const noexcept;

    // Answers.
    void acknowledge(const Packet& packet, PollContext& context) noexcept;
    void nak(wire::NakCode code, const Packet& packet, PollContext& context) noexcept;
    void sequence_nak(const Packet& packet, PollContext& context) noexcept;
    void rnr_nak(std::uint8_t timer, const Packet& packet, PollContext& context) noexcept;
    void response(const Packet& packet, PollContext& context) noexcept;
    void read_data(SendWork& work, const Packet& packet, PollContext& context) noexcept;
    bool confirm_through(wire::Psn psn, PollContext& context) noexcept;
    void progress(wire::Psn acknowledged, PollContext& context) noexcept;
    void take_credits(const wire::Aeth& aeth) noexcept;
    SendWork* oldest_packet() noexcept;

    // Completing.
    void retire(PollContext& context, Status status) noexcept;
    void fail_oldest(PollContext& context, Status status) noexcept;
    void check_oldest(PollContext& context) noexcept;

    // Sending again.
    void restart(PollContext& context) noexcept;
    void place_cursor() noexcept;
    void give_back_resend(PollContext& context) noexcept;
    void arm(Time now) noexcept;
    void measure(wire::Psn acknowledged, Time now) noexcept;
    Time round_trips() const noexcept;
    bool restarted_just_now(Time now) const noexcept;

    QueuePairContext& qp_;
    Attributes attributes_;

    wire::Psn acknowledged_;           ///< the first PSN not acknowledged
    wire::Psn next_;                   ///< the first PSN never sent
    wire::Psn cursor_psn_;             ///< of the next packet to send; equal to `next_` unless retransmitting
    std::uint32_t cursor_ = 0;         ///< index of its request
    std::uint32_t cursor_packet_ = 0;  ///< packet within that request
    std::uint32_t fresh_ = 0;          ///< index of the first request not begun
    std::uint32_t reads_ = 0;          ///< READs and atomics outstanding
    std::uint32_t sequence_ = 0;       ///< SSN of the last request begun
    std::uint32_t credit_limit_ = 0;   ///< the last SSN for which the peer has a receive request
    bool credits_valid_ = false;
    bool draining_ = false, failed_ = false;
    std::uint16_t unrequested_ = 0;  ///< packets sent since the last one with AckReq
    std::uint32_t counted_ = 0;      ///< packets in flight as last reported to `PollContext::flight`
    /// Congestion window in packets: grows up to `window` with acknowledgements, shrinks on loss without progress.
    std::uint16_t flight_ = 0;
    std::uint16_t flight_before_ = 0;  ///< `flight_` at the first retransmission, restored if that was spurious
    std::uint8_t retries_left_ = 0, rnr_left_ = 0;

    ResendSet* resend_ = nullptr;

    Time paused_until_ = 0;  ///< end of the RNR wait; 0: none
    Time timeout_at_ = 0;    ///< ACK timeout; 0: nothing in flight, or infinite
    Time early_at_ = 0;      ///< adaptive retransmission; 0: not armed
    Time early_wait_ = 0;
    wire::Psn probe_end_;  ///< `next_` when the probe was scheduled
    bool probe_owed_ = false;
    bool probing_ = false;   ///< a probe is unanswered
    bool probed_ = false;    ///< the probe was answered; the rest, up to `probe_end_`, is awaited
    Time restarted_at_ = 0;  ///< time and, below, PSN of the last `restart`
    wire::Psn restarted_psn_;
    bool restarted_ = false;

    Time sampled_at_ = 0;  ///< 0: no sample under way
    wire::Psn sample_;
    Time smoothed_ = 0, variation_ = 0;
};

}  // namespace verbline::transport
