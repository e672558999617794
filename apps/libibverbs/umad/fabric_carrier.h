// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// MADs on a soft fabric, whose ports are at two places: subnet management and administration are at the fabric's
/// simulator (ibsim), where the subnet manager is; QP1 of a program's port is on the hub that carries its packets.
///
///     SMPs, SA ───────────────────────────> simulator ──> switches, OpenSM
///     other classes ──┬── first ──────────> QP1, hub ───> ports of other programs
///                     └── no answer ──────> simulator ──> switches, ports without a program
///
/// Where a port has answered is remembered.

#include <map>
#include <memory>
#include <utility>

#include "apps/libibverbs/settings/settings.h"
#include "apps/libibverbs/umad/queue_pair_carrier.h"
#include "control/loop/loop.h"
#include "control/mad/ibsim.h"

namespace verbline::verbs {

class FabricCarrier final : public MadCarrier {
public:
    /// Attaches to the simulator until destroyed.
    static Result<std::unique_ptr<FabricCarrier>> create(const InfinibandLink& link, QueuePairCarrier::OpenPort open,
                                                         control::Loop& loop, Received received);

    void send(const Transmission& transmission) override;
    void serve() override { hub_.serve(); }

private:
    enum class Place : std::uint8_t { hub, simulator };
    /// A request that the hub has not answered yet.
    struct Waiting {
        Transmission transmission;
        control::Timer timer;
    };
    using WaitingKey = std::pair<wire::Lid, std::uint64_t>;  ///< to whom, and the transaction id as it comes back

    FabricCarrier(std::unique_ptr<mad::IbsimTransport> simulator, QueuePairCarrier::OpenPort open, control::Loop& loop,
                  Received received);
    void send_to_simulator(const Transmission& transmission);
    void from_simulator(const mad::MadAddress& from, mad::MadBytes mad);
    void answered(Place place, wire::Lid by, mad::MadBytes mad);

    control::Loop& loop_;
    const Received received_;
    std::unique_ptr<mad::IbsimTransport> simulator_;
    QueuePairCarrier hub_;
    std::map<wire::Lid, Place> places_;
    std::map<WaitingKey, Waiting> waiting_;
};

}  // namespace verbline::verbs
