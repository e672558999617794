// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A SEND or WRITE on its way in, packet after packet in order: opcode sequence, lengths, keys, receive requests, and
/// at its end the completion. Reliable and unreliable responders share it; what an error means is theirs to say.
///
///     first ──> middle* ──> last        or        only              IBTA volume 1, 9.7.4 and 9.8.2

#include <cstdint>
#include <span>

#include "datapath/transport/channel.h"
#include "datapath/transport/packet.h"
#include "datapath/transport/turn.h"

namespace verbline::transport {

/// Why a packet was not executed. A SEND that does not fit, or to memory that is not there, has already completed its
/// receive request with the error.
enum class Outcome : std::uint8_t {
    accepted,
    no_receive,        ///< nothing posted; the same packet may be tried again
    invalid_request,   ///< opcode out of sequence, wrong length, not enabled
    remote_access,     ///< key, range or rights
    local_length,      ///< longer than the receive request
    local_protection,  ///< the receive request's memory
};

class InboundMessage {
public:
    Outcome accept(const Packet& packet, Channel& channel, Turn& turn) noexcept;
    bool in_progress() const { return kind_ != Operation::none; }
    /// The end of the last accepted packet's message, or its middle.
    bool complete() const { return !in_progress(); }

    /// Whose memory the keys in a request name: the queue pair's protection domain, or, as XRC targets have none, that
    /// of the shared receive queue that every request names (annex A14).
    static memory::PdId domain_of(const Packet& packet, const Channel& channel) noexcept;

    /// Ends what is in progress. The receive request that it holds completes with `status`; with success, it is merely
    /// given back, as in an unreliable message that lost a packet.
    void abandon(Channel& channel, Turn& turn, Status status) noexcept;
    /// This shared receive queue is about to be destroyed, with its requests and perhaps its completion queue. A
    /// message that holds one of them ends unfinished and untold: its next packet is out of sequence.
    void forget(const SharedReceiveQueue& queue) noexcept;
    /// An unreliable message lost a packet: its receive request serves the next one (IBTA 9.8.2.2.4).
    void restart() noexcept { kind_ = Operation::none; }

private:
    /// Where receive requests come from, their completions go, and whose memory they name.
    struct Source {
        ReceiveQueue* queue = nullptr;
        CompletionQueue* completions = nullptr;
        SharedReceiveQueue* shared = nullptr;
        memory::PdId pd{};
    };

    static bool well_formed(const Packet& packet, const Channel& channel, bool in_progress) noexcept;
    static SharedReceiveQueue* named_queue(const Packet& packet, const Channel& channel) noexcept;
    static Source source_for(const Packet& packet, Channel& channel) noexcept;
    bool take(const Packet& packet, Channel& channel, Turn& turn) noexcept;
    Outcome begin_write(const Packet& packet, const Channel& channel, const Turn& turn) noexcept;
    Outcome place_write(const Packet& packet, const Channel& channel, const Turn& turn) noexcept;
    Outcome place_send(const Packet& packet, Channel& channel, Turn& turn) noexcept;
    Outcome finish(const Packet& packet, Channel& channel, Turn& turn) noexcept;
    template <class Fill>
    void complete_receive(const Channel& channel, Turn& turn, Fill&& fill) noexcept;

    Operation kind_ = Operation::none;  ///< send, write, or nothing in progress
    Source source_;
    const ReceiveWork* work_ = nullptr;
    std::uint64_t received_ = 0;
    std::uint64_t address_ = 0;  ///< WRITE: from the RETH, as the two below
    wire::RKey rkey_{};
    std::uint32_t length_ = 0;
};

}  // namespace verbline::transport
