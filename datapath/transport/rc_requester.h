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
/// One idea carries it: what is unconfirmed can be sent again at any time, from the first unconfirmed packet on. NAKs,
/// implied NAKs, timeouts and RNR all come down to `restart`, which puts the cursor there; an answer that confirms more
/// than the cursor has passed moves it forward. Between ends that agreed on it, selective_ack.h spares the packets that
/// have arrived.
///
/// Loss at the end of a message would wait for the peer's timeout, which users set to seconds. So the round-trip time
/// is measured, and after several of them without an answer packets are sent again early (hardware calls it adaptive
/// retransmission); only full timeouts count against the retry limit. The first to go early is one packet, a probe: a
/// peer that merely had no processor for a while is not flooded. If what it answers leaves packets unconfirmed, and no
/// more comes for two round trips, those are lost.
///
/// Pure: packets, work and time in, packets and completions out through `Turn`. Owned by one shard.

#include <algorithm>
#include <cstdint>
#include <optional>

#include "datapath/transport/channel.h"
#include "datapath/transport/packet.h"
#include "datapath/transport/request_writer.h"
#include "datapath/transport/turn.h"
#include "pmd/base/time.h"

namespace verbline::transport {

class RcRequester {
public:
    struct Attributes {
        wire::Psn first;               ///< of the first request
        std::uint8_t timeout = 14;     ///< 4.096 us * 2^n, 5 bits; 0: for ever
        std::uint8_t retries = 7;      ///< timeouts without progress, 3 bits
        std::uint8_t rnr_retries = 7;  ///< 7: for ever
        std::uint8_t max_reads = 1;    ///< READs and atomics under way at a time
        std::uint16_t window = 1024;   ///< packets under way, at most 1024
        bool adaptive = true;          ///< send again before the timeout
    };

    explicit RcRequester(Channel& channel) : channel_(channel) {}

    void start(const Attributes& attributes) noexcept;
    /// Changes what may change while connected.
    void set_retries(const Attributes& attributes) noexcept;

    /// An ACK, NAK, READ response or atomic answer.
    void receive(const Packet& packet, Turn& turn) noexcept;
    /// Sends up to `budget` packets; returns how many. 0: nothing to send, or it has to wait for an answer, for time or
    /// for the device.
    unsigned transmit(Turn& turn, unsigned budget) noexcept;
    /// Call at or after `deadline`.
    void on_time(Turn& turn) noexcept;
    /// When something is to be done without a packet; 0: never.
    Time deadline() const noexcept;

    /// Something has failed for good: the queue pair goes to the error state.
    bool failed() const { return failed_; }
    /// Completes everything that is posted as flushed.
    void flush(Turn& turn) noexcept;
    /// Gives borrowed things back; what is posted stays.
    void stop(Turn& turn) noexcept;

    /// No further request is begun; what has begun is finished (SQD).
    void drain(bool on) noexcept { draining_ = on; }
    bool drained() const noexcept { return channel_.send_queue.oldest() == fresh_; }
    /// Requests wait or are under way.
    bool busy() const noexcept { return channel_.send_queue.oldest() != channel_.send_queue.posted(); }

private:
    enum class Step : std::uint8_t { sent, nothing };

    SendWork& at(std::uint32_t index) const { return channel_.send_queue.at(index); }
    std::uint32_t in_flight() const { return static_cast<std::uint32_t>(next_ - acknowledged_); }

    // Sending.
    Step step(Turn& turn) noexcept;
    bool may_begin(const SendWork& work) const noexcept;
    void begin(SendWork& work) noexcept;
    Step send_packet(SendWork& work, Turn& turn) noexcept;
    Step execute_local(SendWork& work, Turn& turn) noexcept;
    Step resend_missing(wire::Psn psn, Turn& turn) noexcept;
    Step resend(wire::Psn psn, Turn& turn) noexcept;
    bool wants_ack(const SendWork& work, bool last, const Turn& turn) const noexcept;
    /// Tells the shard how many packets are under way (flight.h).
    void count_flight(Turn& turn) noexcept;
    /// Packets of response that one request asks for at most: long READs are asked for in parts, so that what is under
    /// way stays bounded.
    std::uint32_t read_limit() const noexcept { return std::min(attributes_.window / 2u, 256u); }
    std::uint32_t read_part(std::uint32_t index, const SendWork& work) const noexcept;

    // Answers.
    void acknowledge(const Packet& packet, Turn& turn) noexcept;
    void nak(wire::NakCode code, const Packet& packet, Turn& turn) noexcept;
    void sequence_nak(const Packet& packet, Turn& turn) noexcept;
    void rnr_nak(std::uint8_t timer, const Packet& packet, Turn& turn) noexcept;
    void response(const Packet& packet, Turn& turn) noexcept;
    void read_data(SendWork& work, const Packet& packet, Turn& turn) noexcept;
    bool confirm_through(wire::Psn psn, Turn& turn) noexcept;
    void progress(wire::Psn acknowledged, Turn& turn) noexcept;
    void take_credits(const wire::Aeth& aeth) noexcept;
    SendWork* oldest_packet() noexcept;

    // Completing.
    void retire(Turn& turn, Status status) noexcept;
    void fail_oldest(Turn& turn, Status status) noexcept;
    void check_oldest(Turn& turn) noexcept;

    // Sending again.
    void restart(Turn& turn) noexcept;
    void place_cursor() noexcept;
    void give_back_resend(Turn& turn) noexcept;
    void arm(Time now) noexcept;
    void measure(wire::Psn acknowledged, Time now) noexcept;
    Time round_trips() const noexcept;
    bool restarted_just_now(Time now) const noexcept;

    Channel& channel_;
    Attributes attributes_;

    wire::Psn acknowledged_;           ///< the first PSN that is not confirmed
    wire::Psn next_;                   ///< the first PSN never sent
    wire::Psn cursor_psn_;             ///< of the next packet to send; equal to `next_` unless sending again
    std::uint32_t cursor_ = 0;         ///< its request
    std::uint32_t cursor_packet_ = 0;  ///< and its place in there
    std::uint32_t fresh_ = 0;          ///< the first request not begun
    std::uint32_t reads_ = 0;          ///< READs and atomics under way
    std::uint32_t sequence_ = 0;       ///< SSN of the last request begun
    std::uint32_t credit_limit_ = 0;   ///< the last SSN that the peer has a receive for
    bool credits_valid_ = false;
    bool draining_ = false, failed_ = false;
    std::uint16_t unrequested_ = 0;  ///< packets sent since an answer was asked for
    std::uint32_t counted_ = 0;      ///< packets under way that the shard knows of
    /// Packets that may be under way now: grows to the window with what arrives, shrinks when nothing does.
    std::uint16_t flight_ = 0;
    std::uint16_t flight_before_ = 0;  ///< when it was first sent again
    std::uint8_t retries_left_ = 0, rnr_left_ = 0;

    ResendSet* resend_ = nullptr;

    Time paused_until_ = 0;  ///< RNR; 0: no
    Time timeout_at_ = 0;    ///< full timeout; 0: nothing is under way, or never
    Time early_at_ = 0;      ///< adaptive
    Time early_wait_ = 0;
    wire::Psn probe_end_;  ///< what had been sent when the probe went
    bool probe_owed_ = false;
    bool probing_ = false;   ///< a probe is out
    bool probed_ = false;    ///< it was answered; the rest, up to `probe_end_`, is awaited
    Time restarted_at_ = 0;  ///< when, and where, packets were last sent again
    wire::Psn restarted_psn_;
    bool restarted_ = false;

    Time sampled_at_ = 0;  ///< 0: no sample under way
    wire::Psn sample_;
    Time smoothed_ = 0, variation_ = 0;
};

}  // namespace verbline::transport
