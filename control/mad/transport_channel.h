// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// General management packets over a Transport: for peers of one subnet, by LID, without a GRH.
///
///     send ──> posted to the loop ──> Transport::send          any thread; the loop's
///     receiver <── Transport's, of one management class        the loop's
///
/// The transport is used on its loop's thread only, so `send` from other threads posts to the loop.

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
    /// Transport and loop must outlive the channel; construct and destroy it on the loop's thread. A peer's `qpn` of 1
    /// is translated to our own general services' QPN (PortFacts::qpn), assuming that the peer's is the same; on
    /// hardware it is 1.
    TransportChannel(Transport& transport, control::Loop& loop);
    ~TransportChannel() override;

    void send(const GmpPeer& to, MadBytes mad) noexcept override;
    /// Sets the receiver of a management class, called on the loop's thread; an empty one removes it, as does the
    /// channel's destructor.
    void receive(wire::MadClass management_class, GmpReceiver receiver);

    /// On the loop's thread.
    const TransportChannelCounters& counters() const;

private:
    class Sender;  ///< shared with tasks posted to the loop
    std::optional<GmpPeer> peer_of(const Address& from) const;

    Transport& transport_;
    control::Loop& loop_;
    std::shared_ptr<Sender> sender_;
    std::vector<wire::MadClass> classes_;
};

}  // namespace verbline::mad
