// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/port/fabric_watch.h"

#include <optional>

#include "control/loop/loop.h"
#include "control/mad/ibsim.h"
#include "control/sa/client.h"
#include "control/sa/groups.h"
#include "control/sa/subnet_watch.h"

namespace verbline::verbs {
namespace {

constexpr Time attach_interval = second;

}  // namespace

/// Of what an sa::Agent has only the watch: nobody asks for paths or groups here.
struct FabricWatch::Attached {
    Attached(std::unique_ptr<control::Loop> events, std::unique_ptr<mad::IbsimTransport> port)
        : loop(std::move(events)), transport(std::move(port)) {}

    std::unique_ptr<control::Loop> loop;
    std::unique_ptr<mad::IbsimTransport> transport;
    sa::Client client{*transport, *loop};
    sa::Groups groups{client, *loop};
    bool changed = true, lost = false;
    sa::SubnetWatch watch{client, groups, *loop, [this] { lost = true; }};
};

FabricWatch::FabricWatch(OnPort on_port, OnReregister on_reregister)
    : on_port_(std::move(on_port)), on_reregister_(std::move(on_reregister)) {}

FabricWatch::~FabricWatch() = default;

void FabricWatch::watch(const InfinibandLink& port) {
    const std::scoped_lock lock(mutex_);
    port_ = port;
    wanted_ = true;
}

void FabricWatch::leave() {
    const std::scoped_lock lock(mutex_);
    wanted_ = false;
    attached_ = {};
}

/// A simulator that has no place now, or does not run, may have one later.
void FabricWatch::attach(const InfinibandLink& port) {
    auto loop = control::Loop::create();
    if (!loop) return;
    auto transport = mad::IbsimTransport::open(port.fabric, port.host, **loop);
    if (!transport) return;
    attached_ = std::make_unique<Attached>(std::move(*loop), std::move(*transport));
    attached_->transport->listen([attached = attached_.get()](mad::PortEvent what) {
        attached->changed = true;
        if (what == mad::PortEvent::sm_change) attached->watch.expect_another();
        if (mad::asks_for_registrations(what)) attached->lost = true;
    });
}

void FabricWatch::look(Time now) {
    std::optional<mad::PortFacts> port;
    bool lost = false;
    {
        const std::unique_lock lock(mutex_, std::try_to_lock);
        if (!lock || !wanted_) return;
        if (attached_ == nullptr) {
            if (now < next_attempt_) return;
            next_attempt_ = now + attach_interval;
            attach(port_);
            if (attached_ == nullptr) return;
        }
        attached_->loop->run_once(0);
        if (std::exchange(attached_->changed, false)) port = attached_->transport->port();
        lost = std::exchange(attached_->lost, false);
    }
    if (port) on_port_(*port);
    if (lost) on_reregister_();
}

void FabricWatch::abandon() {
    if (attached_ != nullptr) attached_->transport->abandon();
}

}  // namespace verbline::verbs
