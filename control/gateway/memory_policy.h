// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Where memory comes from that DPDK does not allocate: objects on the heap, shared memory of memif, rings of packet
/// sockets.

struct bitmask;  // libnuma's

namespace verbline::gateway {

/// For its lifetime, the kernel prefers a NUMA socket for memory that the calling thread touches first; destruction
/// restores the previous policy. Memory that is used again stays where it is. Does nothing for pmd::any_numa_socket,
/// for a socket that the machine does not have, and where the kernel knows no NUMA.
class MemoryOnSocket {
public:
    explicit MemoryOnSocket(int socket) noexcept;
    MemoryOnSocket(const MemoryOnSocket&) = delete;
    MemoryOnSocket& operator=(const MemoryOnSocket&) = delete;
    ~MemoryOnSocket();

private:
    bitmask* nodes_ = nullptr;  ///< of the policy before; null: it was not changed
    int mode_ = 0;
};

}  // namespace verbline::gateway
