// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What two ends must know of each other before they can talk RDMA, told over TCP. Real programs use a connection
/// manager; this is the least that does, as in ibv_rc_pingpong.

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
    wire::RKey rkey{};          ///< of memory that the other may read and write,
    std::uint64_t address = 0;  ///< which begins here
    bool selective_ack = false;
};

/// One TCP connection; closed with the object. Every wait is bounded.
class Exchange {
public:
    /// Waits for a client; prints a line that ends in `ready` when it can come.
    static Result<Exchange> accept(std::uint16_t port);
    static Result<Exchange> connect(const std::string& server, std::uint16_t port);
    /// Over a stream socket that is connected.
    explicit Exchange(FileDescriptor socket);

    /// Ours for theirs.
    Result<Introduction> swap(const Introduction& ours);
    /// Both ends have come here.
    Result<void> meet();

    /// The peer will ask for nothing more.
    void say_done();
    /// It said so, or is gone. Does not wait.
    bool peer_is_done();

private:
    Result<void> send(wire::Bytes bytes);
    Result<void> receive(wire::MutableBytes bytes);

    FileDescriptor socket_;
};

}  // namespace verbline::rdma_ping
