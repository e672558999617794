// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What both halves of a queue pair, requester and responder, know in common: who we are, who the peer is, and where
/// work comes from and completions go.

#include <cstdint>

#include "datapath/link/envelope.h"
#include "datapath/memory/access.h"
#include "datapath/transport/completion_queue.h"
#include "datapath/transport/opcode.h"
#include "datapath/transport/receive_queue.h"
#include "datapath/transport/send_queue.h"
#include "datapath/wire/deth.h"
#include "datapath/wire/types.h"

namespace verbline::transport {

/// A receive queue that many queue pairs take from. Completions go to the queue pair's own queue, those of XRC to the
/// shared queue's (annex A14).
struct SharedReceiveQueue {
    explicit SharedReceiveQueue(const ReceiveQueue::Limits& limits) : queue(limits) {}

    ReceiveQueue queue;
    memory::PdId pd{};
    CompletionQueue* completions = nullptr;  ///< XRC only
    std::uint32_t number = 0;                ///< XRC: what a request names
    std::uint32_t xrc_domain = 0;            ///< 0: not an XRC queue
};

/// The shared receive queues of a shard by number, for XRC targets.
class XrcQueues {
public:
    virtual ~XrcQueues() = default;
    virtual SharedReceiveQueue* find(std::uint32_t domain, std::uint32_t number) noexcept = 0;
};

/// The order is that of use: what every packet needs comes first.
struct Channel {
    Channel(const SendQueue::Limits& send, const ReceiveQueue::Limits& receive)
        : send_queue(send), receive_queue(receive) {}

    SendQueue send_queue;        ///< none: XRC target
    ReceiveQueue receive_queue;  ///< none: shared, or XRC
    CompletionQueue* send_completions = nullptr;
    CompletionQueue* receive_completions = nullptr;
    wire::Qpn qpn{}, remote{};
    memory::PdId pd{};
    memory::Access access{};  ///< what the peer may do here
    wire::PKey pkey{0xffff};
    std::uint16_t pkey_index = 0;
    wire::QKey qkey{};
    Service service{};
    std::uint8_t mtu_shift = 10;   ///< path MTU: 8..12 for 256..4096 bytes
    bool signal_all = false;       ///< every send completes, whether it asked to or not
    bool selective = false;        ///< both ends agreed on selective acknowledgement
    bool produce_credits = false;  ///< tell the requester how many receives are posted
    link::Envelope envelope{};
    SharedReceiveQueue* shared = nullptr;
    XrcQueues* xrc_queues = nullptr;
    std::uint32_t xrc_domain = 0;  ///< XRC target

    std::uint32_t mtu() const { return 1u << mtu_shift; }
    /// QP1, which any P_Key reaches, and which names one for each datagram.
    bool general_services() const { return qpn == wire::gsi_qpn; }
    /// That a message of so many bytes takes; at least one.
    std::uint32_t packets(std::uint64_t bytes) const {
        return bytes == 0 ? 1 : static_cast<std::uint32_t>((bytes + mtu() - 1) >> mtu_shift);
    }
    bool reliable() const { return service == Service::rc || service == Service::xrc; }
};

}  // namespace verbline::transport
