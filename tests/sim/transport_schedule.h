// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// One schedule while it runs: what is made (transport_setup.cc), what is done to it (transport_course.cc), what it has
/// to say and how it ends (transport_simulation.cc).

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <queue>
#include <utility>
#include <vector>

#include "tests/sim/side.h"
#include "tests/sim/transport_simulation.h"

namespace verbline::sim {

class TransportSchedule {
public:
    TransportSchedule(Seed seed, rte_mempool& pool, bool trace)
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

}  // namespace verbline::sim
