// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The responder of a reliable connection (RC, and the target of XRC): IBTA volume 1, 9.7.
///
///     request ──┬─ expected ──> execute ──> (READ, atomic: response queue)  ──┐
///               ├─ earlier  ──> duplicate: answered again, not executed       ├──> transmit: responses, then one
///               └─ later    ──> kept (reorder.h), NAK once per gap           ─┘    ACK or NAK for all of it
///
/// Answers are not sent one by one: `receive` notes what is owed, and `transmit`, after a burst of requests, pays with
/// one ACK for all. Only the newest matters: an ACK confirms everything before it.
///
/// An ACK names the last SEND or WRITE, never a READ or an atomic, which nothing but their response acknowledges. An
/// ACK that named a READ would tell a requester whose response was lost that nothing is missing: the kernel's rdma_rxe
/// then completes the READ without its data. The ACK's MSN is the newest all the same, READs included.
///
/// What is kept belongs to a budget that queue pairs share (reorder.h), and not for ever: a peer that is gone, or never
/// meant to send what is missing, must not hold the device's buffers. A request that is given up counts as lost.
///
/// A gap is reported once. If the peer then starts again and the packet is lost again, PSNs step back although the
/// expected one has not come: it is reported anew, instead of leaving the peer to its timeout.
///
/// Pure; owned by one shard.

#include <cstdint>
#include <optional>

#include "datapath/transport/channel.h"
#include "datapath/transport/inbound_message.h"
#include "datapath/transport/packet.h"
#include "datapath/transport/response_queue.h"
#include "datapath/transport/turn.h"

namespace verbline::transport {

class RcResponder {
public:
    struct Attributes {
        wire::Psn first;              ///< expected of the first request
        std::uint8_t max_reads = 1;   ///< READs and atomics that the peer may have under way
        std::uint8_t rnr_timer = 12;  ///< how long a requester is asked to wait: rnr_timer.h
    };

    explicit RcResponder(Channel& channel) : channel_(channel) {}

    void start(const Attributes& attributes);
    void set_rnr_timer(std::uint8_t timer) { attributes_.rnr_timer = timer; }

    /// A request. True: the packet's mbuf was kept.
    bool receive(const Packet& packet, Turn& turn) noexcept;
    /// Sends what is owed, up to `budget` packets; returns how many.
    unsigned transmit(Turn& turn, unsigned budget) noexcept;

    /// When kept requests are given up unless the missing one has come; 0: nothing is kept.
    Time deadline() const noexcept { return window_ != nullptr ? window_->until : 0; }
    /// Call at or after `deadline`.
    void on_time(Turn& turn) noexcept;

    /// A fatal NAK has been sent: the queue pair goes to the error state, and the user is told `event`.
    bool failed() const { return failed_; }
    EventKind event() const { return event_; }
    /// Completes the receive request in use and those that are posted here as flushed.
    void flush(Turn& turn) noexcept;
    /// Gives the receive request in use back without a word (RESET).
    void abandon(Turn& turn) noexcept { message_.abandon(channel_, turn, Status::success); }
    /// See InboundMessage::forget.
    void forget(const SharedReceiveQueue& queue) noexcept { message_.forget(queue); }
    /// Gives borrowed things back.
    void stop(Turn& turn) noexcept;

private:
    struct Fatal {
        wire::NakCode code{};
        EventKind event{};
    };

    // Requests.
    memory::PdId domain_of(const Packet& packet) const noexcept { return InboundMessage::domain_of(packet, channel_); }
    bool execute(const Packet& packet, Turn& turn) noexcept;
    void duplicate(const Packet& packet, Turn& turn) noexcept;
    bool keep(const Packet& packet, Turn& turn) noexcept;
    void replay_kept(Turn& turn) noexcept;
    bool message(const Packet& packet, Turn& turn) noexcept;
    bool read(const Packet& packet, Turn& turn) noexcept;
    bool atomic(const Packet& packet, Turn& turn) noexcept;
    bool atomic_write(const Packet& packet, Turn& turn) noexcept;
    bool flush_memory(const Packet& packet, Turn& turn) noexcept;
    Response* respond(Response::Kind kind, std::uint32_t packets, Turn& turn) noexcept;
    void accepted(const Packet& packet, std::uint32_t psns, bool message_ends) noexcept;
    void responded(const Packet& packet, std::uint32_t psns) noexcept;
    bool refuse(wire::NakCode code, EventKind event, Turn& turn) noexcept;
    void give_back_window(Turn& turn) noexcept;

    // Answers.
    enum class Sent : std::uint8_t { yes, no_room, no_memory };
    Sent send_response(Response& response, Turn& turn) noexcept;
    void abandon_response(Response& response, Turn& turn) noexcept;
    bool send_answer(Turn& turn) noexcept;
    bool write_aeth(wire::Psn psn, const wire::Aeth& aeth, wire::Bytes map, Turn& turn) noexcept;
    std::uint8_t credits() const noexcept;

    Channel& channel_;
    Attributes attributes_;
    InboundMessage message_;
    ResponseQueue responses_;
    ReorderWindow* window_ = nullptr;

    wire::Psn expected_;
    wire::Psn last_message_;  ///< executed: the last packet of a SEND or WRITE, which an ACK names
    wire::Psn last_ahead_;    ///< the request that arrived last of those ahead of it
    std::uint32_t msn_ = 0;
    std::uint16_t unanswered_ = 0;  ///< packets since the last answer
    bool answer_owed_ = false;
    bool gap_owed_ = false;      ///< a sequence NAK is to be sent
    bool gap_reported_ = false;  ///< and was, for the present `expected_`
    bool rnr_owed_ = false;
    bool not_ready_ = false;  ///< the expected packet came and found no receive request
    bool pending_ = false;    ///< responses wait
    bool failed_ = false;
    std::optional<Fatal> fatal_;
    EventKind event_{};
};

}  // namespace verbline::transport
