// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Assembles an inbound SEND or WRITE from packets in order: checks opcode sequence, lengths and keys, takes receive
/// requests, and completes the message. Used by reliable and unreliable responders, which decide what an error leads
/// to.
///
///     first ──> middle* ──> last        or        only              IBTA volume 1, 9.7.4 and 9.8.2

#include <cstdint>
#include <span>

#include "datapath/transport/packet.h"
#include "datapath/transport/poll_context.h"
#include "datapath/transport/queue_pair_context.h"

namespace verbline::transport {

/// Result for a packet. With local_length and local_protection, and with remote_access of a SEND with Invalidate, the
/// receive request has already completed with an error.
enum class Outcome : std::uint8_t {
    accepted,
    no_receive,        ///< no receive request posted; the same packet may be retried
    invalid_request,   ///< opcode out of sequence, wrong length, not enabled
    remote_access,     ///< WRITE or invalidate: key, range or rights
    local_length,      ///< longer than the receive request
    local_protection,  ///< the memory of the receive request is not accessible
};

class InboundMessage {
public:
    Outcome accept(const Packet& packet, QueuePairContext& qp, PollContext& context) noexcept;
    bool in_progress() const { return kind_ != Operation::none; }
    /// True if the last accepted packet ended its message.
    bool complete() const { return !in_progress(); }

    /// Protection domain for the R_Keys in a request: that of the queue pair; for an XRC target that of the shared
    /// receive queue the request names (annex A14).
    static memory::PdId domain_of(const Packet& packet, const QueuePairContext& qp) noexcept;

    /// Drops the message in progress. Its receive request completes with `status`; if that is success, it is given back
    /// to its queue without a completion.
    void abandon(QueuePairContext& qp, PollContext& context, Status status) noexcept;
    /// Drops references to a shared receive queue that is about to be destroyed, perhaps with its completion queue. A
    /// message that holds one of its requests ends without a completion: its next packet is out of sequence.
    void forget(const SharedReceiveQueue& queue) noexcept;
    /// An unreliable message lost a packet: its receive request serves the next one (IBTA 9.8.2.2.4).
    void restart() noexcept { kind_ = Operation::none; }

private:
    /// Receive queue, completion queue and protection domain of the receive requests.
    struct Source {
        ReceiveQueue* queue = nullptr;
        CompletionQueue* completions = nullptr;
        SharedReceiveQueue* shared = nullptr;
        memory::PdId pd{};
    };

    static bool well_formed(const Packet& packet, const QueuePairContext& qp, bool in_progress) noexcept;
    static SharedReceiveQueue* named_queue(const Packet& packet, const QueuePairContext& qp) noexcept;
    static Source source_for(const Packet& packet, QueuePairContext& qp) noexcept;
    bool take(const Packet& packet, QueuePairContext& qp, PollContext& context) noexcept;
    Outcome begin_write(const Packet& packet, const QueuePairContext& qp, const PollContext& context) noexcept;
    Outcome place_write(const Packet& packet, const QueuePairContext& qp, const PollContext& context) noexcept;
    Outcome place_send(const Packet& packet, QueuePairContext& qp, PollContext& context) noexcept;
    Outcome finish(const Packet& packet, QueuePairContext& qp, PollContext& context) noexcept;
    template <class Fill>
    void complete_receive(const QueuePairContext& qp, PollContext& context, Fill&& fill) noexcept;

    Operation kind_ = Operation::none;  ///< send, write, or nothing in progress
    Source source_;
    const ReceiveWork* work_ = nullptr;
    std::uint64_t received_ = 0;
    std::uint64_t address_ = 0;  ///< WRITE: from the RETH, as the two below
    wire::RKey rkey_{};
    std::uint32_t length_ = 0;
};

}  // namespace verbline::transport
