// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What brings a port's MADs to their destination.
///
///     UmadPort ──> MadCarrier ──┬── QueuePairCarrier: QP1 of the port's RDMA device (Ethernet)
///                               └── FabricCarrier: the same, and the fabric's simulator
///
/// Threads: created, called and destroyed on the control thread; `received` is called on any, without locks of the
/// carrier that `send` takes.

#include <cstddef>
#include <cstdint>
#include <functional>

#include "apps/libibverbs/umad/message.h"
#include "apps/libibverbs/umad/request_table.h"
#include "control/mad/transport.h"

namespace verbline::verbs {

class MadCarrier {
public:
    /// A MAD has come to our queue pair `qpn`. `length`: bytes that were sent of it.
    using Received = std::function<void(std::uint8_t qpn, const FarEnd& from, mad::MadBytes mad, std::size_t length)>;

    MadCarrier() = default;
    MadCarrier(const MadCarrier&) = delete;
    MadCarrier& operator=(const MadCarrier&) = delete;
    virtual ~MadCarrier() = default;

    /// Never blocks on the network; what cannot be sent is lost.
    virtual void send(const Transmission& transmission) = 0;
    /// Agents of QP1 are registered: from now on the port receives what is sent there.
    virtual void serve() = 0;
};

}  // namespace verbline::verbs
