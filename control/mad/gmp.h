// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// General management packets between the QP1s of two ports (IBTA volume 1, 13.5.1), for services that talk to any
/// peer, mainly the connection manager. Transport addresses far ends by LID, which suffices for subnet administration;
/// here they are addressed like a queue pair's peer, since RoCE has GIDs and MAC addresses.
///
///     cm ──> GmpChannel ──┬── Gsi: a UD queue pair of ours with the number 1 (RoCE, soft fabric)
///                         └── simulations
///
/// Unreliable: never blocks, never retries.

#include <cstdint>
#include <functional>
#include <span>

#include "control/mad/transport.h"
#include "datapath/rdma/address.h"
#include "datapath/wire/mad.h"
#include "datapath/wire/types.h"

namespace verbline::mad {

/// The far end of a general management packet: destination of a sent one, return path of a received one.
struct GmpPeer {
    rdma::Path path;  ///< gid_index: the local GID. On RoCE a missing MAC address is resolved by the channel
    wire::Qpn qpn = gsi;
    wire::QKey qkey = wire::gsi_qkey;
    wire::PKey pkey{0xffff};
};

/// A received MAD. `from.path` is the return path and can be passed to `send` unchanged. `mad` is valid during the
/// call.
struct GmpArrival {
    GmpPeer from;
    wire::Mad header;  ///< of `mad`, parsed once
    MadBytes mad;

    /// For MADs that come in other ways than through Gsi. One of another base version gets an empty header.
    static GmpArrival of(const GmpPeer& from, MadBytes mad) {
        return {.from = from, .header = wire::Mad::parse(mad).value_or(wire::Mad{}), .mad = mad};
    }
};

/// Receives a burst of MADs in order of arrival; they are valid during the call.
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
