// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The connection data that two ends exchange over TCP before they use RDMA. Real programs use a connection manager;
/// this is the least that does, as in ibv_rc_pingpong.

#include <cstdint>
#include <string>

#include "datapath/wire/bytes.h"
#include "datapath/wire/types.h"
#include "pmd/base/error.h"
#include "pmd/base/file_descriptor.h"

namespace verbline::rdma_ping {

struct Introduction {
    wire::Qpn qpn{};
    wire::Psn psn;          ///< of its first request
    std::uint32_t mtu = 0;  ///< the largest path MTU it can take
    wire::MacAddress mac{};
    wire::Lid lid{};
    wire::Gid gid{};
    wire::RKey rkey{};          ///< of the memory that the peer may read and write
    std::uint64_t address = 0;  ///< start of that memory
    bool selective_ack = false;
    std::uint32_t flow_label = 0;  ///< RoCE: for packets to it, so that they arrive at the right shard; 0: none
};

/// One TCP connection; closed with the object. Every wait is bounded.
class Exchange {
public:
    /// Waits for a client; prints a line that ends in `ready` once it listens.
    static Result<Exchange> accept(std::uint16_t port);
    static Result<Exchange> connect(const std::string& server, std::uint16_t port);
    /// Uses a connected stream socket.
    explicit Exchange(FileDescriptor socket);

    /// Sends ours, and returns the peer's.
    Result<Introduction> swap(const Introduction& ours);
    /// In steps, where one end answers what the other has said.
    Result<void> introduce(const Introduction& ours);
    Result<Introduction> await_introduction();
    /// A barrier: returns when both ends have called it.
    Result<void> meet();

    /// Tells the peer that we are done.
    void say_done();
    /// True if the peer is done, or has closed the connection. Does not block.
    bool peer_is_done();

private:
    Result<void> send(wire::Bytes bytes);
    Result<void> receive(wire::MutableBytes bytes);

    FileDescriptor socket_;
};

}  // namespace verbline::rdma_ping
