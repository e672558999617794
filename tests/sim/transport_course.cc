// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "tests/sim/transport_schedule.h"

// What programs do, and what is done to them and to the network.

namespace verbline::sim {

using transport::QueuePairType;

void TransportSchedule::send(Side& side) {
    if (over_ || !side.wants_to_post()) return;
    for (auto n = 1 + scene_.random.below(8); n > 0 && side.post_one(); --n) {}
    if (side.wants_to_post()) after(about(side.plan.pause), [this, s = &side] { send(*s); });
}

void TransportSchedule::refill(Reservoir& reservoir, bool late) {
    if (over_) return;
    reservoir.post(late ? static_cast<std::uint32_t>(1 + scene_.random.below(4)) : 64);
    after(late ? about(200 * microsecond) : about(20 * microsecond),
          [this, r = &reservoir, late] { refill(*r, late); });
}

void TransportSchedule::plan_kills(Connection& connection) {
    after(about(scene_.plan.trouble_ends / 3), [this, c = &connection] { kill(*c); });
}

void TransportSchedule::kill(Connection& connection) {
    if (over_ || connection.ending || connection.dead) return;
    collect();
    ++scene_.summary.killed;
    auto& side = *connection.sides[scene_.random.below(2)];
    switch (scene_.random.below(3)) {
        case 0: side.error(); break;
        case 1: side.reset(); break;
        case 2:
            if (connection.plan->type == QueuePairType::ud) return;
            side.destroy();
            break;
    }
    side.peer->broken = true;
}

/// The program has seen that it is over: both ends are brought to the error state.
void TransportSchedule::end(Connection& connection) {
    collect();
    for (auto& side : connection.sides) {
        side->error();
        side->post_in_error();
    }
    after(50 * microsecond, [this, c = &connection] { renew(*c); });
}

/// And then, with all that was outstanding flushed, to a new life or none.
void TransportSchedule::renew(Connection& connection) {
    collect();
    const bool again = !over_ && scene_.random.chance(0.8) && connection.generation < 6;
    for (auto& side : connection.sides) {
        side->check_quiet();
        if (side->pair() == nullptr) {
            if (again) side->create();
        } else if (scene_.random.chance(0.2) && connection.plan->type != QueuePairType::ud && again) {
            side->destroy();
            side->create();
        } else {
            side->reset();
        }
        side->end_epoch();
    }
    connection.ending = false;
    if (again) {
        ++scene_.summary.reconnected;
        establish(connection);
        return;
    }
    connection.dead = true;
    for (auto& side : connection.sides) side->give_up();
}

void TransportSchedule::drain_and_resume(Side& side) {
    if (over_ || !side.ready() || side.broken) return;
    scene_.say("{} is to drain", side.name());
    if (side.pair()->drain()) draining_.push_back(&side);
}

/// A route that carries less than the ports do, for a while: nobody says so.
void TransportSchedule::change_mtu() {
    auto& port = scene_.nodes[scene_.random.below(scene_.nodes.size())].host->port();
    port.setup().max_frame = 1000;
    scene_.say("{} carries no more than 1000 bytes", port.name());
}

void TransportSchedule::heal() {
    scene_.say("the network is whole");
    for (std::size_t i = 0; i < scene_.nodes.size(); ++i) {
        auto& setup = scene_.nodes[i].host->port().setup();
        setup.in = setup.out = {};
        setup.receive_ring = PortSetup{}.receive_ring;
        setup.queue_limit = calm_queue;
        setup.max_frame = PortSetup{}.max_frame;
        trace_packets(i);
    }
}
}  // namespace verbline::sim
