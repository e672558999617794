// SPDX-License-Identifier: BSD-3-Clause
#include <rte_mbuf.h>

#include "datapath/link/arrival.h"
#include "datapath/wire/aeth.h"
#include "datapath/wire/bth.h"
#include "tests/sim/transport_schedule.h"
#include "tests/support/link_frame.h"

// Hosts, connections and programs, as the plan has them.

namespace verbline::sim {

using transport::QueuePairType;

namespace {

constexpr std::uint32_t shared_depth = 64;

}  // namespace

void TransportSchedule::make_nodes() {
    for (const auto& setup : scene_.plan.hosts) {
        make_node(setup);
        trace_packets(scene_.nodes.size() - 1);
    }
}

/// What leaves a host, and what would reach one if nothing happened to it on the last cable.
void TransportSchedule::trace_packets(std::size_t host) {
    if (!scene_.trace) return;
    auto& setup = scene_.nodes[host].host->port().setup();
    setup.out.drop_if = [this, host](const rte_mbuf& frame) { return trace_packet(host, "sends", frame), false; };
    setup.in.drop_if = [this, host](const rte_mbuf& frame) { return trace_packet(host, "gets", frame), false; };
}

void TransportSchedule::trace_packet(std::size_t host, const char* way, const rte_mbuf& frame) const {
    const wire::Bytes bytes(rte_pktmbuf_mtod(&frame, const std::byte*), frame.data_len);
    const auto arrival = test::open_frame(bytes);
    if (!arrival) return scene_.say("host {} {} a frame of {} bytes that is damaged", host + 1, way, bytes.size());
    const auto bth = wire::Bth::parse(bytes.subspan(arrival->bth_at));
    if (!bth) return;
    std::string answer;
    if (bth->opcode == 0x11 || bth->opcode == 0xb1) {
        const auto aeth = wire::Aeth::parse(bytes.subspan(arrival->bth_at + wire::Bth::size));
        if (aeth) answer = fmt::format(" {} {} MSN {}", static_cast<int>(aeth->kind), aeth->value, aeth->msn);
    }
    scene_.say("host {} {} {:02x} PSN {} to {} of {} bytes{}{}", host + 1, way, bth->opcode, bth->psn.value(),
               static_cast<std::uint32_t>(bth->dest), bytes.size(), bth->ack_request ? " A" : "", answer);
}

void TransportSchedule::make_node(const HostSetup& setup) {
    auto& random = scene_.random;
    auto& node = scene_.nodes.emplace_back();
    node.host = &world_.add_host(setup);
    auto& device = node.host->device();
    std::uint32_t entries = 2 * shared_depth;
    for (const auto& pair : scene_.plan.pairs) entries += 4 * std::max(pair.depth, 4u);
    const auto queues = 1 + random.below(3);
    for (std::size_t i = 0; i < queues; ++i) {
        // The queue tells of news once per arming, and not who it is: that is found out here.
        node.queues.push_back(
            device.create_cq(entries, [this, &node, i] { news_.emplace_back(&node, node.queues[i].get()); }));
        node.queues.back()->arm(transport::CompletionQueue::Armed::any);
    }
    for (unsigned domain = 0; domain < 2; ++domain) {
        node.arenas[domain] = std::make_unique<Arena>(device, device.allocate_pd(), Seed{random.next()});
        auto& arena = *node.arenas[domain];
        for (unsigned i = 0; i < 4; ++i) {
            node.words[domain].emplace_back(i % 2 == 0 ? AtomicWord::Kind::sum : AtomicWord::Kind::swap,
                                            *arena.take(Use::atomic, 8));
        }
        node.domains[domain].emplace(device.create_xrc_domain());
        const auto make = [&](bool xrc, auto& queue, auto& reservoir) {
            queue = make_shared(node, domain, xrc);
            const auto size = scene_.plan.shared_largest + 40 + 4096;
            reservoir = std::make_unique<Reservoir>(
                scene_, arena, size, shared_depth, false,
                [shared = queue.get()](const auto& request) { return shared->post(request).has_value(); });
        };
        make(false, node.shared[domain], node.shared_reservoirs[domain]);
        make(true, node.xrc_shared[domain], node.xrc_reservoirs[domain]);
    }
}

std::unique_ptr<rdma::SharedReceiveQueue> TransportSchedule::make_shared(Node& node, unsigned domain, bool xrc) {
    auto made = node.host->device().create_shared_receive_queue(
        node.arenas[domain]->pd(), {.requests = shared_depth, .segments = 3}, xrc ? &*node.domains[domain] : nullptr,
        xrc ? node.queues.front().get() : nullptr);
    if (!made) throw std::runtime_error(made.error().what);
    (*made)->arm_limit(static_cast<std::uint32_t>(scene_.random.below(4)));
    return std::move(*made);
}

void TransportSchedule::make_connections() {
    for (const auto& plan : scene_.plan.pairs) {
        auto& connection = connections_.emplace_back();
        connection.plan = &plan;
        for (unsigned half = 0; half < 2; ++half) {
            connection.sides[half] = std::make_unique<Side>(scene_, scene_.nodes[plan.hosts[half]], plan, half);
            connection.sides[half]->create();
        }
        connection.sides[0]->peer = connection.sides[1].get();
        connection.sides[1]->peer = connection.sides[0].get();
        if (plan.type == QueuePairType::ud) {
            for (auto& side : connection.sides) scene_.datagram_sides.push_back(side.get());
        }
    }
    for (auto& connection : connections_) establish(connection);
}

/// Each time with PSNs far from those before, as packets of a former life may still be under way.
void TransportSchedule::establish(Connection& connection) {
    auto& [a, b] = connection.sides;
    const auto shift = 0x30'0000 * connection.generation++;
    const auto of_a = connection.plan->send[0].first + shift, of_b = connection.plan->send[1].first + shift;
    a->connect(world_, *b, of_a, of_b);
    b->connect(world_, *a, of_b, of_a);
}

void TransportSchedule::start_programs() {
    for (auto& node : scene_.nodes) {
        for (unsigned domain = 0; domain < 2; ++domain) {
            refill(*node.shared_reservoirs[domain], scene_.random.chance(0.2));
            refill(*node.xrc_reservoirs[domain], scene_.random.chance(0.2));
        }
    }
    for (auto& connection : connections_) {
        for (auto& side : connection.sides) {
            if (side->sends()) after(about(connection.plan->pause), [this, s = side.get()] { send(*s); });
            if (side->own != nullptr) refill(*side->own, connection.plan->late[side->half]);
        }
        if (scene_.plan.trouble.kills && scene_.random.chance(0.7)) plan_kills(connection);
        if (connection.plan->type == QueuePairType::rc && scene_.random.chance(0.1)) {
            after(about(scene_.plan.trouble_ends / 4), [this, s = connection.sides[0].get()] { drain_and_resume(*s); });
        }
    }
    if (scene_.plan.trouble.blackouts && scene_.random.chance(0.3)) {
        after(about(scene_.plan.trouble_ends / 2), [this] { change_mtu(); });
    }
    at(scene_.plan.trouble_ends, [this] { heal(); });
}
}  // namespace verbline::sim
