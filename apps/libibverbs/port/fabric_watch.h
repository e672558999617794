// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What the subnet manager gives a port of a soft fabric that the program has for itself, and takes away.
///
///     VerbsPort's upkeep ── look ──> IbsimTransport: the port's attributes ──> on_port
///                               └──> sa::SubnetWatch: lost registrations ────> on_reregister
///
/// The simulator has ten places: a part of the program that is attached to it anyway watches the port itself, and this
/// is not attached meanwhile.
///
/// Threads: any; handlers are called on the thread that calls `look`.

#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "apps/libibverbs/settings/settings.h"
#include "control/mad/port_facts.h"
#include "pmd/base/time.h"

namespace verbline::verbs {

class FabricWatch {
public:
    using OnPort = std::function<void(const mad::PortFacts& now)>;
    /// The subnet manager has none of the port's registrations any more: groups that the program has joined by itself,
    /// subscriptions, services.
    using OnReregister = std::function<void()>;

    FabricWatch(OnPort on_port, OnReregister on_reregister);
    ~FabricWatch();
    FabricWatch(const FabricWatch&) = delete;
    FabricWatch& operator=(const FabricWatch&) = delete;

    /// From the next `look` on.
    void watch(const InfinibandLink& port);
    /// Attaches if it is not attached, which takes milliseconds; never waits for answers.
    void look(Time now);
    /// Leaves the simulator until `watch`.
    void leave();
    /// In the child after fork.
    void abandon();

private:
    struct Attached;

    void attach(const InfinibandLink& port);

    const OnPort on_port_;
    const OnReregister on_reregister_;
    std::mutex mutex_;
    InfinibandLink port_;
    bool wanted_ = false;
    Time next_attempt_ = 0;
    std::unique_ptr<Attached> attached_;
};

}  // namespace verbline::verbs
