// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// State shared by requester and responder of a queue pair: local and remote addresses, send and receive queue,
/// completion queues.

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

/// A receive queue shared by many queue pairs. Completions go to the completion queue of the queue pair, for XRC to
/// that of the shared receive queue (annex A14).
struct SharedReceiveQueue {
    explicit SharedReceiveQueue(const ReceiveQueue::Limits& limits) : queue(limits) {}

    ReceiveQueue queue;
    memory::PdId pd{};
    CompletionQueue* completions = nullptr;  ///< XRC only
    std::uint32_t number = 0;                ///< XRC SRQ number in requests
    std::uint32_t xrc_domain = 0;            ///< 0: not an XRC queue
};

/// Looks up a shard's XRC shared receive queues. `find` returns nullptr if the domain has no queue of that number.
class XrcQueues {
public:
    virtual ~XrcQueues() = default;
    virtual SharedReceiveQueue* find(std::uint32_t domain, std::uint32_t number) noexcept = 0;
};

/// Members in order of use: those needed for every packet first.
struct QueuePairContext {
    QueuePairContext(const SendQueue::Limits& send, const ReceiveQueue::Limits& receive)
        : send_queue(send), receive_queue(receive) {}

    SendQueue send_queue;        ///< absent for XRC targets
    ReceiveQueue receive_queue;  ///< absent with a shared receive queue, and for XRC
    CompletionQueue* send_completions = nullptr;
    CompletionQueue* receive_completions = nullptr;
    wire::Qpn qpn{}, remote{};
    memory::PdId pd{};
    memory::Access access{};  ///< rights granted to the peer
    wire::PKey pkey{0xffff};
    std::uint16_t pkey_index = 0;
    wire::QKey qkey{};
    Service service{};
    std::uint8_t mtu_shift = 10;   ///< path MTU: 8..12 for 256..4096 bytes
    bool signal_all = false;       ///< every send request produces a completion, signalled or not
    bool selective = false;        ///< both ends agreed on selective acknowledgement
    bool produce_credits = false;  ///< advertise posted receive requests as end-to-end credits
    link::Envelope envelope{};
    SharedReceiveQueue* shared = nullptr;
    XrcQueues* xrc_queues = nullptr;
    std::uint32_t xrc_domain = 0;  ///< XRC target

    std::uint32_t mtu() const { return 1u << mtu_shift; }
    /// True for QP1: it accepts any P_Key, and each send request names its own.
    bool general_services() const { return qpn == wire::gsi_qpn; }
    /// Packets in a message of `bytes`; at least one.
    std::uint32_t packets(std::uint64_t bytes) const {
        return bytes == 0 ? 1 : static_cast<std::uint32_t>((bytes + mtu() - 1) >> mtu_shift);
    }
    bool reliable() const { return service == Service::rc || service == Service::xrc; }
};

}  // namespace verbline::transport
