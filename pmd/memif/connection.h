// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What two memif peers have agreed on: memory, and a ring end for each queue and direction.

#include <deque>
#include <memory>
#include <vector>

#include "pmd/base/file_descriptor.h"
#include "pmd/memif/ring.h"
#include "pmd/memif/shared_memory.h"
#include "pmd/runtime/trusted_path.h"

namespace verbline::pmd::memif {

struct MemifOptions {
    std::string path;          ///< of the socket
    bool server = false;       ///< the server listens; the client owns the memory
    std::uint32_t id = 0;      ///< tells apart interfaces on one socket
    std::uint16_t queues = 1;  ///< in each direction; the same on both sides
    unsigned log2_ring_size = 10;
    std::uint32_t buffer_size = 2304;  ///< bytes in a slot; a longer frame takes several
    std::uint16_t mtu = 2048;          ///< stated in the capabilities; nothing here enforces it
    Trust trust{};                     ///< whose the socket and its server may be
    /// How a server signals its clients. None: one of its own. Devices that share it are closed faster.
    std::shared_ptr<const Notifier> notifier = nullptr;
};

struct Connection {
    std::vector<SharedMemory> memory;
    Regions regions;  ///< of `memory`; the rings refer to it
    std::vector<FileDescriptor> signals;
    std::shared_ptr<const Notifier> notifier;  ///< for signals that are the peer's
    std::deque<Producer> tx;                   ///< by queue
    std::deque<Consumer> rx;

    bool broken() const;
    /// Whether there are frames that we have not received.
    bool unread() const;
    /// Makes every receiver's event readable: whoever sleeps on one finds out what has changed.
    void wake_receivers() const;
};

/// One side's part in the handshake. Called by the control thread; never blocks.
class Endpoint {
public:
    virtual ~Endpoint() = default;

    /// While unconnected: takes the handshake further. The connection, once it stands; until then null. An error, once,
    /// if one of the two sides refused the other: it has been hung up on.
    virtual Result<std::unique_ptr<Connection>> advance() = 0;
    /// While connected: whether the peer still is.
    virtual bool alive() = 0;
    virtual void hang_up(std::string_view reason) = 0;
    /// Closes the socket without a word: in the child of a fork, whose parent goes on with the connection.
    virtual void abandon() = 0;
    /// How often a server was found that is not to be trusted; a client has then not connected.
    virtual std::uint64_t untrusted_servers() const { return 0; }
};

Result<std::unique_ptr<Endpoint>> make_server(const MemifOptions& options, rte_mempool* pool);
Result<std::unique_ptr<Endpoint>> make_client(const MemifOptions& options, rte_mempool* pool);

/// The same over a socket whose other end the peer has already: it is used for one connection, and once that has ended
/// (or come to nothing) there is none any more. `path` is a name only. The peer is trusted not to make its eventfds
/// block: a server writes them plainly.
std::unique_ptr<Endpoint> make_connected_server(const MemifOptions& options, rte_mempool* pool, FileDescriptor peer);
std::unique_ptr<Endpoint> make_connected_client(const MemifOptions& options, rte_mempool* pool, FileDescriptor peer);

}  // namespace verbline::pmd::memif
