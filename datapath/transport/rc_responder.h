// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The responder of a reliable connection (RC, and the target of XRC): IBTA volume 1, 9.7.
///
///     request ──┬─ expected ──> execute ──> (READ, atomic: response queue)  ──┐
///               ├─ earlier  ──> duplicate: answered again, not executed       ├──> transmit: responses, then one
///               └─ later    ──> kept (reorder.h), NAK once per gap           ─┘    ACK or NAK for all of it
///
/// ACKs are coalesced: `receive` records that an answer is due, and `transmit`, after a burst of requests, sends one
/// ACK for all, since an ACK acknowledges everything before it.
///
/// An ACK carries the PSN of the last SEND or WRITE, never of a READ or atomic: those are acknowledged only by their
/// responses. An ACK with the PSN of a READ would hide the loss of its response: the kernel's rdma_rxe then completes
/// the READ without its data. The ACK's MSN is the newest, READs included.
///
/// Packets kept for reordering count against a budget that queue pairs share (reorder.h), and are dropped after a
/// timeout: a peer that has ended, or never sends the missing packet, must not hold the device's buffers. A dropped
/// packet counts as lost.
///
/// A gap is reported once. If the peer goes back and the packet is lost again, PSNs step back although the expected one
/// has not arrived: the gap is reported anew, so that the peer need not wait for its timeout.
///
/// A pure state machine, owned by one shard.

#include <cstdint>
#include <optional>

#include "datapath/transport/inbound_message.h"
#include "datapath/transport/packet.h"
#include "datapath/transport/poll_context.h"
#include "datapath/transport/queue_pair_context.h"
#include "datapath/transport/response_queue.h"

namespace verbline::transport {

class RcResponder {
public:
    struct Attributes {
        wire::Psn first;              ///< PSN expected in the first request
        std::uint8_t max_reads = 1;   ///< READs and atomics that the peer may have outstanding
        std::uint8_t rnr_timer = 12;  ///< code sent in RNR NAKs: rnr_timer.h
    };

    explicit RcResponder(QueuePairContext& qp) : qp_(qp) {}

    void start(const Attributes& attributes);
    void set_rnr_timer(std::uint8_t timer) { attributes_.rnr_timer = timer; }

    /// Handles a request. Returns true if it kept the packet's mbuf.
    bool receive(const Packet& packet, PollContext& context) noexcept;
    /// Whether `transmit` would send anything. Usually it would not: a requester's queue pair checks before each send.
    bool owes() const noexcept { return pending_ || answer_owed_; }
    /// Sends pending responses, ACKs and NAKs, up to `budget` packets; returns how many.
    unsigned transmit(PollContext& context, unsigned budget) noexcept;

    /// When packets kept for reordering expire; 0: none is kept.
    Time deadline() const noexcept { return window_ != nullptr ? window_->until : 0; }
    /// Call at or after `deadline`.
    void on_time(PollContext& context) noexcept;

    /// True once a fatal NAK has been sent: the caller moves the queue pair to the error state and emits `event`.
    bool failed() const { return failed_; }
    AsyncEventKind event() const { return event_; }
    /// Completes the receive request in use and all posted ones of its own queue as flushed.
    void flush(PollContext& context) noexcept;
    /// Returns the receive request in use to its queue without a completion (RESET).
    void abandon(PollContext& context) noexcept { message_.abandon(qp_, context, Status::success); }
    /// See InboundMessage::forget.
    void forget(const SharedReceiveQueue& queue) noexcept { message_.forget(queue); }
    /// Returns the reorder window to its pool; requests are no longer handled.
    void stop(PollContext& context) noexcept;

private:
    struct Fatal {
        wire::NakCode code{};
        AsyncEventKind event{};
    };

    // Requests.
    memory::PdId domain_of(const Packet& packet) const noexcept { return InboundMessage::domain_of(packet, qp_); }
    bool execute(const Packet& packet, PollContext& context) noexcept;
    void duplicate(const Packet& packet, PollContext& context) noexcept;
    bool keep(const Packet& packet, PollContext& context) noexcept;
    void replay_kept(PollContext& context) noexcept;
    bool message(const Packet& packet, PollContext& context) noexcept;
    bool read(const Packet& packet, PollContext& context) noexcept;
    bool atomic(const Packet& packet, PollContext& context) noexcept;
    bool atomic_write(const Packet& packet, PollContext& context) noexcept;
    bool flush_memory(const Packet& packet, PollContext& context) noexcept;
    Response* respond(Response::Kind kind, std::uint32_t packets, PollContext& context) noexcept;
    void accepted(const Packet& packet, std::uint32_t psns, bool message_ends) noexcept;
    void responded(const Packet& packet, std::uint32_t psns) noexcept;
    bool refuse(wire::NakCode code, AsyncEventKind event, PollContext& context) noexcept;
    void give_back_window(PollContext& context) noexcept;

    // Answers.
    enum class Sent : std::uint8_t { yes, no_room, no_memory };
    Sent send_response(Response& response, PollContext& context) noexcept;
    void abandon_response(Response& response, PollContext& context) noexcept;
    bool send_answer(PollContext& context) noexcept;
    bool write_aeth(wire::Psn psn, const wire::Aeth& aeth, wire::Bytes map, PollContext& context) noexcept;
    std::uint8_t credits() const noexcept;

    QueuePairContext& qp_;
    Attributes attributes_;
    InboundMessage message_;
    ResponseQueue responses_;
    ReorderWindow* window_ = nullptr;

    wire::Psn expected_;
    wire::Psn last_message_;  ///< last executed packet of a SEND or WRITE: PSN of ACKs
    wire::Psn last_ahead_;    ///< PSN of the latest out-of-order request
    std::uint32_t msn_ = 0;
    std::uint16_t unanswered_ = 0;  ///< packets executed since the last answer
    bool answer_owed_ = false;
    bool gap_owed_ = false;      ///< a PSN sequence error NAK is to be sent
    bool gap_reported_ = false;  ///< it was sent for the present `expected_`
    bool rnr_owed_ = false;
    bool not_ready_ = false;  ///< the expected packet found no receive request
    bool pending_ = false;    ///< responses wait to be sent
    bool failed_ = false;
    std::optional<Fatal> fatal_;
    AsyncEventKind event_{};
};

}  // namespace verbline::transport
