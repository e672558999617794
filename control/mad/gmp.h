// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// General management packets between the QP1s of two ports (IBTA volume 1, 13.5.1), for services that talk to any
/// peer: the connection manager above all. Where Transport knows far ends by LID, which is enough for the subnet's
/// administration, here they are known as a queue pair knows its peer: RoCE has GIDs and MAC addresses.
///
///     cm ──> GmpChannel ──┬── Gsi: a UD queue pair of ours with the number 1 (RoCE, soft fabric)
///                         ├── TransportChannel: by LID (ibsim, umad)
///                         └── simulations
///
/// Never blocks, never retries: MADs are lost as packets are.

#include <cstdint>
#include <functional>
#include <span>

#include "control/mad/transport.h"
#include "datapath/rdma/address.h"
#include "datapath/wire/types.h"

namespace verbline::mad {

/// The far end of a general management packet: how to reach it, or how to answer it.
struct GmpPeer {
    rdma::Path path;  ///< gid_index: ours that it talks to. Without a MAC address on RoCE, the channel finds it out
    wire::Qpn qpn = gsi;
    wire::QKey qkey = wire::gsi_qkey;
    wire::PKey pkey{0xffff};
};

/// One that has come. `from.path` is the way back: as it stands it can be given to `send`. `mad` is borrowed.
struct GmpArrival {
    GmpPeer from;
    MadBytes mad;
};

/// Gets MADs that have arrived together, in their order; they are valid during the call.
using GmpReceiver = std::function<void(std::span<const GmpArrival> burst)>;

class GmpChannel {
public:
    GmpChannel() = default;
    GmpChannel(const GmpChannel&) = delete;
    GmpChannel& operator=(const GmpChannel&) = delete;
    virtual ~GmpChannel() = default;

    /// Any thread. The MAD is copied; one that cannot be sent is counted and lost.
    virtual void send(const GmpPeer& to, MadBytes mad) noexcept = 0;
};

}  // namespace verbline::mad
