// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/transport_simulation.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include <rte_mbuf.h>

#include "datapath/link/arrival.h"
#include "datapath/wire/aeth.h"
#include "datapath/wire/bth.h"
#include "tests/sim/side.h"

namespace verbline::sim {
namespace {

using transport::QueuePairType;

constexpr Time patience = 600 * second;  ///< after the network is whole again
constexpr std::uint64_t most_steps = 3'000'000;
constexpr std::uint32_t shared_depth = 64;

class Simulation {
public:
    Simulation(Seed seed, rte_mempool& pool, bool trace)
        : world_(Seed{static_cast<std::uint64_t>(seed) * 3 + 1}, pool), scene_(seed, trace) {}

    SimulationResult run();

private:
    struct Connection {
        std::array<std::unique_ptr<Side>, 2> sides;
        const PairPlan* plan;
        std::uint32_t generation = 0;
        bool ending = false, dead = false;
        bool broken() const { return sides[0]->broken || sides[1]->broken; }
    };
    struct Action {
        Time at;
        std::uint64_t order;
        std::function<void()> act;
        bool operator<(const Action& other) const { return at != other.at ? at > other.at : order > other.order; }
    };

    void trace_packets(std::size_t host);
    void trace_packet(std::size_t host, const char* way, const rte_mbuf& frame) const;
    void make_nodes();
    void make_node(const HostSetup& setup);
    std::unique_ptr<rdma::SharedReceiveQueue> make_shared(Node& node, unsigned domain, bool xrc);
    void make_connections();
    void establish(Connection& connection);
    void start_programs();

    void at(Time time, std::function<void()> act) { actions_.push({time, order_++, std::move(act)}); }
    void after(Time delay, std::function<void()> act) { at(scene_.now + delay, std::move(act)); }
    Time about(Time time) { return 1 + static_cast<Time>(scene_.random.below(static_cast<std::uint64_t>(2 * time))); }

    void send(Side& side);
    void refill(Reservoir& reservoir, bool late);
    void plan_kills(Connection& connection);
    void kill(Connection& connection);
    void end(Connection& connection);
    void renew(Connection& connection);
    void drain_and_resume(Side& side);
    void change_mtu();

    void advance();
    void collect();
    void collect(Node& node, transport::CompletionQueue& queue);
    void notice_events();
    void notice_broken();
    bool finished() const;
    void heal();
    void shut_down();
    void check_end();
    void summarize();

    World world_;  // outlives what programs made on its hosts
    Scene scene_;
    std::deque<Connection> connections_;
    std::priority_queue<Action> actions_;
    std::uint64_t order_ = 0;
    std::vector<std::pair<Node*, transport::CompletionQueue*>> news_;
    std::vector<Side*> draining_;
    bool over_ = false;
};

void Simulation::make_nodes() {
    for (const auto& setup : scene_.plan.hosts) {
        make_node(setup);
        trace_packets(scene_.nodes.size() - 1);
    }
}

/// What leaves a host, and what would reach one if nothing happened to it on the last cable.
void Simulation::trace_packets(std::size_t host) {
    if (!scene_.trace) return;
    auto& setup = scene_.nodes[host].host->port().setup();
    setup.out.drop_if = [this, host](const rte_mbuf& frame) { return trace_packet(host, "sends", frame), false; };
    setup.in.drop_if = [this, host](const rte_mbuf& frame) { return trace_packet(host, "gets", frame), false; };
}

void Simulation::trace_packet(std::size_t host, const char* way, const rte_mbuf& frame) const {
    const wire::Bytes bytes(rte_pktmbuf_mtod(&frame, const std::byte*), frame.data_len);
    const auto arrival = link::open(bytes);
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

void Simulation::make_node(const HostSetup& setup) {
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

std::unique_ptr<rdma::SharedReceiveQueue> Simulation::make_shared(Node& node, unsigned domain, bool xrc) {
    auto made = node.host->device().create_shared_receive_queue(
        node.arenas[domain]->pd(), {.requests = shared_depth, .segments = 3}, xrc ? &*node.domains[domain] : nullptr,
        xrc ? node.queues.front().get() : nullptr);
    if (!made) throw std::runtime_error(made.error().what);
    (*made)->arm_limit(static_cast<std::uint32_t>(scene_.random.below(4)));
    return std::move(*made);
}

void Simulation::make_connections() {
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
void Simulation::establish(Connection& connection) {
    auto& [a, b] = connection.sides;
    const auto shift = 0x30'0000 * connection.generation++;
    const auto of_a = connection.plan->send[0].first + shift, of_b = connection.plan->send[1].first + shift;
    a->connect(world_, *b, of_a, of_b);
    b->connect(world_, *a, of_b, of_a);
}

void Simulation::start_programs() {
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

void Simulation::send(Side& side) {
    if (over_ || !side.wants_to_post()) return;
    for (auto n = 1 + scene_.random.below(8); n > 0 && side.post_one(); --n) {}
    if (side.wants_to_post()) after(about(side.plan.pause), [this, s = &side] { send(*s); });
}

void Simulation::refill(Reservoir& reservoir, bool late) {
    if (over_) return;
    reservoir.post(late ? static_cast<std::uint32_t>(1 + scene_.random.below(4)) : 64);
    after(late ? about(200 * microsecond) : about(20 * microsecond),
          [this, r = &reservoir, late] { refill(*r, late); });
}

void Simulation::plan_kills(Connection& connection) {
    after(about(scene_.plan.trouble_ends / 3), [this, c = &connection] { kill(*c); });
}

void Simulation::kill(Connection& connection) {
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
void Simulation::end(Connection& connection) {
    collect();
    for (auto& side : connection.sides) {
        side->error();
        side->post_in_error();
    }
    after(50 * microsecond, [this, c = &connection] { renew(*c); });
}

/// And then, with all that was outstanding flushed, to a new life or none.
void Simulation::renew(Connection& connection) {
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

void Simulation::drain_and_resume(Side& side) {
    if (over_ || !side.ready() || side.broken) return;
    scene_.say("{} is to drain", side.name());
    if (side.pair()->drain()) draining_.push_back(&side);
}

/// A route that carries less than the ports do, for a while: nobody says so.
void Simulation::change_mtu() {
    auto& port = scene_.nodes[scene_.random.below(scene_.nodes.size())].host->port();
    port.setup().max_frame = 1000;
    scene_.say("{} carries no more than 1000 bytes", port.name());
}

void Simulation::heal() {
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

/// To the next thing that happens, on the network or in a program.
void Simulation::advance() {
    const auto due = actions_.empty() ? scene_.now + second : actions_.top().at;
    const bool more = world_.step(due);
    scene_.now = world_.now();
    collect();
    notice_events();
    notice_broken();
    if (more) return;
    while (!actions_.empty() && actions_.top().at <= scene_.now) {
        const auto act = std::move(const_cast<Action&>(actions_.top()).act);
        actions_.pop();
        act();
    }
}

void Simulation::collect() {
    while (!news_.empty()) {
        const auto [node, queue] = news_.back();
        news_.pop_back();
        collect(*node, *queue);
        // What came before the arming is not told of.
        queue->arm(transport::CompletionQueue::Armed::any);
        collect(*node, *queue);
    }
}

void Simulation::collect(Node& node, transport::CompletionQueue& queue) {
    std::array<transport::Completion, 32> batch;
    while (const auto n = queue.poll(batch)) {
        for (const auto& completion : std::span(batch).first(n)) {
            const auto side = node.sides.find(static_cast<std::uint32_t>(completion.qpn));
            if (side == node.sides.end()) {
                scene_.fail("completion for queue pair {}, which is no more",
                            static_cast<std::uint32_t>(completion.qpn));
                continue;
            }
            if (completion.id >> 63 == 0) {
                side->second->completed(completion);
                continue;
            }
            const auto receive = scene_.receives.find(completion.id);
            if (receive == scene_.receives.end()) {
                scene_.fail("receive {:x} completes twice, or after its queue was reset", completion.id);
                continue;
            }
            auto& reservoir = *receive->second.of;
            auto pieces = reservoir.take(completion.id);
            side->second->received(completion, pieces, reservoir);
        }
    }
}

void Simulation::notice_events() {
    for (auto& node : scene_.nodes) {
        for (const auto& event : std::exchange(node.host->events(), {})) {
            if (event.kind == transport::EventKind::cq_error) scene_.fail("a completion queue overran");
            if (event.kind != transport::EventKind::send_queue_drained) continue;
            const auto side = node.sides.find(static_cast<std::uint32_t>(event.qpn));
            if (side == node.sides.end() || side->second->broken) continue;
            scene_.say("{} is drained", side->second->name());
            std::erase(draining_, side->second);
            after(about(100 * microsecond), [s = side->second] {
                if (!s->broken && s->pair() != nullptr) static_cast<void>(s->pair()->resume());
            });
        }
    }
}

void Simulation::notice_broken() {
    for (auto& connection : connections_) {
        for (auto& side : connection.sides) side->check_flushed();
        if (!connection.broken() || connection.ending || connection.dead) continue;
        connection.ending = true;
        for (auto& side : connection.sides) std::erase(draining_, side.get());
        after(about(2 * millisecond), [this, c = &connection] { end(*c); });
    }
}

bool Simulation::finished() const {
    if (scene_.now < scene_.plan.trouble_ends) return false;
    return std::ranges::all_of(connections_, [](const Connection& connection) {
        if (connection.ending) return false;
        return connection.dead || std::ranges::all_of(connection.sides, [](const auto& side) {
                   return !side->wants_to_post() && side->sent.empty();
               });
    });
}

SimulationResult Simulation::run() {
    make_nodes();
    make_connections();
    start_programs();
    const auto limit = scene_.plan.trouble_ends + patience;
    std::uint64_t steps = 0;
    while (scene_.fault.empty() && !finished()) {
        advance();
        if (scene_.now > limit || ++steps > most_steps) {
            for (auto& connection : connections_) {
                for (auto& side : connection.sides) {
                    if (!connection.dead && side->wants_to_post()) {
                        scene_.fail("{} hangs, with {} to be completed", side->name(), side->sent.size());
                    }
                    if (!connection.dead) side->check_quiet();
                }
            }
            scene_.fail("it does not end");
        }
    }
    if (scene_.fault.empty()) shut_down();
    if (scene_.fault.empty()) check_end();
    summarize();
    return {.fault = scene_.fault, .summary = scene_.summary};
}

void Simulation::shut_down() {
    // What is under way comes to rest.
    for (const auto end_of = scene_.now + 20 * millisecond; world_.step(end_of);) {
        scene_.now = world_.now();
        collect();
    }
    scene_.now = world_.now();
    collect();
    for (auto& connection : connections_) {
        for (auto& side : connection.sides) side->check_quiet();
    }
    over_ = true;
    for (auto& connection : connections_) {
        for (auto& side : connection.sides) side->error();
    }
    world_.run_for(millisecond);
    collect();
    for (auto& connection : connections_) {
        for (auto& side : connection.sides) {
            side->check_quiet();
            side->destroy();
        }
    }
    collect();
}

void Simulation::check_end() {
    for (const auto& entry : scene_.limbo) {
        auto ids = entry.ids;
        if (!mixes(entry.block->bytes.first(entry.size), ids) ||
            !is_untouched(entry.block->bytes.subspan(entry.size))) {
            scene_.fail("memory that message {} should have written holds something else", ids.back());
        }
    }
    for (auto& node : scene_.nodes) {
        for (unsigned domain = 0; domain < 2; ++domain) {
            if (!node.arenas[domain]->guards_hold()) scene_.fail("something was written outside of what was asked for");
            for (const auto& word : node.words[domain]) {
                if (const auto fault = word.fault(); !fault.empty()) scene_.fail("an atomic word: {}", fault);
            }
        }
    }
    if (scene_.resets != 0) return;
    for (const auto& [id, receive] : scene_.receives) {
        if (!is_untouched(receive.pieces.bytes())) scene_.fail("receive {:x}, which waits, was written to", id);
    }
}

void Simulation::summarize() {
    auto& sum = scene_.summary;
    sum.schedules = 1;
    sum.virtual_time = scene_.now;
    for (auto& node : scene_.nodes) {
        const auto& host = *node.host;
        for (const auto* link : {&node.host->port().out_counters(), &node.host->port().in_counters()}) {
            sum.lost += link->lost.value() + link->dropped_blackout.value();
            sum.duplicated += link->duplicated.value();
            sum.reordered += link->reordered.value();
            sum.corrupted += link->corrupted.value();
        }
        const auto& port = node.host->port().port_counters();
        sum.lost += port.rx_dropped_overrun.value() + port.queue_dropped_full.value();
        sum.marked += port.queue_marked.value();
        sum.packets += host.counter("tx_packets");
        sum.retransmitted += host.counter("tx_retransmitted_packets");
        sum.selective += host.counter("tx_selective_packets");
        sum.timeouts += host.counter("local_ack_timeout_err");
        sum.naks += host.counter("tx_seq_naks");
        sum.rnr_naks += host.counter("tx_rnr_naks");
        sum.duplicates_seen += host.counter("duplicate_request");
    }
}

}  // namespace

SimulationResult simulate(Seed seed, rte_mempool& pool, bool trace) {
    SimulationResult result;
    {
        Simulation simulation(seed, pool, trace);
        result = simulation.run();
    }
    const auto kept = rte_mempool_in_use_count(&pool);
    if (kept != 0 && result.fault.empty()) result.fault = fmt::format("{} packets were not freed", kept);
    return result;
}

SimulationSummary& SimulationSummary::operator+=(const SimulationSummary& other) {
    constexpr std::uint64_t SimulationSummary::* counts[] = {
        &SimulationSummary::schedules,   &SimulationSummary::queue_pairs,     &SimulationSummary::messages,
        &SimulationSummary::receives,    &SimulationSummary::failed_requests, &SimulationSummary::killed,
        &SimulationSummary::reconnected, &SimulationSummary::datagrams_lost,  &SimulationSummary::packets,
        &SimulationSummary::lost,        &SimulationSummary::duplicated,      &SimulationSummary::reordered,
        &SimulationSummary::corrupted,   &SimulationSummary::marked,          &SimulationSummary::retransmitted,
        &SimulationSummary::selective,   &SimulationSummary::timeouts,        &SimulationSummary::naks,
        &SimulationSummary::rnr_naks,    &SimulationSummary::duplicates_seen};
    for (const auto count : counts) this->*count += other.*count;
    virtual_time += other.virtual_time;
    return *this;
}

std::string text(const SimulationSummary& s) {
    return fmt::format(
        "{} schedules, {:.1f} s of virtual time\n"
        "  queue pairs {}, killed {}, reconnected {}\n"
        "  messages {}, received {}, failed {}\n"
        "  packets {}, lost {}, duplicated {}, reordered {}, corrupted {}, marked {}\n"
        "  sent again {} (selectively {}), timeouts {}, sequence NAKs {}, RNR NAKs {}, duplicates seen {}\n",
        s.schedules, static_cast<double>(s.virtual_time) / 1e9, s.queue_pairs, s.killed, s.reconnected, s.messages,
        s.receives, s.failed_requests, s.packets, s.lost, s.duplicated, s.reordered, s.corrupted, s.marked,
        s.retransmitted, s.selective, s.timeouts, s.naks, s.rnr_naks, s.duplicates_seen);
}

}  // namespace verbline::sim
