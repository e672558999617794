// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// An established memif connection: shared memory, and a ring end for each queue and direction; and the handshake that
/// creates it.

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "pmd/base/file_descriptor.h"
#include "pmd/memif/ring.h"
#include "pmd/memif/shared_memory.h"
#include "pmd/runtime/trusted_path.h"

namespace verbline::pmd::memif {

struct MemifOptions {
    std::string path;          ///< of the socket
    bool server = false;       ///< the server listens; the client owns the memory
    std::uint32_t id = 0;      ///< distinguishes interfaces on one socket
    std::uint16_t queues = 1;  ///< in each direction; the same on both sides
    unsigned log2_ring_size = 10;
    std::uint32_t buffer_size = 2304;  ///< bytes in a slot; a longer frame takes several
    std::uint16_t mtu = 2048;          ///< reported in the capabilities; not enforced here
    Trust trust{};                     ///< which users may own the socket and run its server
    /// Used by a server to signal its clients. Null: the server creates one. Devices that share one are closed faster.
    std::shared_ptr<const Notifier> notifier = nullptr;
};

struct SharedRings {
    std::vector<SharedMemory> memory;
    Regions regions;  ///< of `memory`; the rings refer to it
    std::vector<FileDescriptor> signals;
    std::shared_ptr<const Notifier> notifier;  ///< for eventfds that the peer supplied
    std::deque<Producer> tx;                   ///< by queue
    std::deque<Consumer> rx;

    bool broken() const;
    /// Whether received frames are still in the rings.
    bool unread() const;
    /// Makes every receiver's event readable, so that sleeping receivers notice a change of the connection.
    void wake_receivers() const;
};

/// One side of the handshake. Called by the control thread; never blocks.
class Handshake {
public:
    virtual ~Handshake() = default;

    /// While unconnected: advances the handshake. Returns the connection once it is established, and null until then.
    /// Returns an error, once, if either side rejected the other; the socket is then closed.
    virtual Result<std::unique_ptr<SharedRings>> advance() = 0;
    /// While connected: whether the peer is still connected.
    virtual bool alive() = 0;
    virtual void hang_up(std::string_view reason) = 0;
    /// Closes the socket without a disconnect message: for the child of a fork, whose parent keeps the connection.
    virtual void abandon() = 0;
    /// A client: the server's socket is at another path from the next connection on.
    virtual void move_to(const std::string& /*path*/) {}
    /// How often a client did not connect because path or server belong to a user who is not trusted.
    virtual std::uint64_t untrusted_servers() const { return 0; }
};

Result<std::unique_ptr<Handshake>> make_server(const MemifOptions& options, rte_mempool* pool);
Result<std::unique_ptr<Handshake>> make_client(const MemifOptions& options, rte_mempool* pool);

/// The same over an already connected socket: it serves one connection, after whose end (or failure) there is no other.
/// `options.path` is only a name. The peer is trusted not to make its eventfds block: a server signals them with plain
/// writes.
std::unique_ptr<Handshake> make_connected_server(const MemifOptions& options, rte_mempool* pool, FileDescriptor peer);
std::unique_ptr<Handshake> make_connected_client(const MemifOptions& options, rte_mempool* pool, FileDescriptor peer);

}  // namespace verbline::pmd::memif
