// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// General management packets over a Transport: for peers of one subnet, by LID, without a GRH.
///
///     send ──> posted to the loop ──> Transport::send          any thread; the loop's
///     receiver <── Transport's, of one management class        the loop's
///
/// The transport belongs to its loop's thread, so what others send waits for that.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "control/loop/loop.h"
#include "control/mad/gmp.h"
#include "control/mad/transport.h"
#include "pmd/base/counter.h"

namespace verbline::mad {

#define VERBLINE_TRANSPORT_CHANNEL_COUNTERS(X)                                                         \
    X(tx_dropped_no_lid, "MADs not sent because the peer's LID is not known: it is on another subnet") \
    X(tx_dropped_pkey, "MADs not sent because the port is not in their partition")                     \
    X(rx_dropped_bad_pkey, "MADs received of a partition that this port is not in: its table has changed")
struct TransportChannelCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_TRANSPORT_CHANNEL_COUNTERS)
};

class TransportChannel final : public GmpChannel {
public:
    /// Both outlive it; on the loop's thread, as its end. General services of peers have the number that ours have,
    /// which is 1 on hardware (PortFacts::qpn): that is what a peer's `qpn` of 1 means here.
    TransportChannel(Transport& transport, control::Loop& loop);
    ~TransportChannel() override;

    void send(const GmpPeer& to, MadBytes mad) noexcept override;
    /// Who gets the MADs of a management class, on the loop's thread; an empty receiver ends it, and the channel's end
    /// does.
    void receive(wire::MadClass management_class, GmpReceiver receiver);

    /// On the loop's thread.
    const TransportChannelCounters& counters() const;

private:
    class Sender;  ///< shared with what waits in the loop
    std::optional<GmpPeer> peer_of(const Address& from) const;

    Transport& transport_;
    control::Loop& loop_;
    std::shared_ptr<Sender> sender_;
    std::vector<wire::MadClass> classes_;
};

}  // namespace verbline::mad
