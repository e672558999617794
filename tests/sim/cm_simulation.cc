// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/cm_simulation.h"

#include "tests/sim/cm_users.h"

namespace verbline::sim {
namespace {

constexpr std::uint64_t most_steps = 2'000'000;
constexpr Time patience = 3600 * second;  ///< for everything to rest

class CmSimulation {
public:
    CmSimulation(Seed seed, bool trace) : scene_(seed, trace), users_(scene_) {}

    CmResult run();

private:
    void make_nodes();
    void plan_restarts();
    void run_until(Time time);
    /// Until nothing is left to happen.
    void run_to_rest();
    void check_rest();
    std::uint64_t close_half_open();
    void close_some();
    void let_go();
    void check_empty();
    template <class Act>
    void each_user(Act&& act) {
        for (std::size_t i = 0; i < scene_.users.size(); ++i) {
            if (scene_.users[i].endpoint) act(scene_.users[i]);
        }
    }

    CmScene scene_;
    CmUsers users_;
    std::uint64_t steps_ = 0;
};

void CmSimulation::make_nodes() {
    const auto& plan = scene_.plan;
    for (unsigned i = 0; i < plan.nodes; ++i) {
        scene_.nodes.push_back(std::make_unique<CmNode>(scene_, i, [this](CmUser& user) { users_.told(user); }));
        for (auto n = scene_.random.below(6); n > 0; --n) {
            const Time when = plan.listeners_leave ? scene_.about(plan.busy / 2) : 0;
            scene_.agenda.after(when, [this, i] { users_.listen(i); });
        }
    }
    for (unsigned i = 0; i < plan.attempts; ++i) {
        const auto from = static_cast<unsigned>(scene_.random.below(plan.nodes));
        scene_.agenda.after(scene_.about(plan.busy), [this, from] { users_.begin(from); });
    }
}

void CmSimulation::plan_restarts() {
    if (!scene_.plan.restarts) return;
    for (auto n = 1 + scene_.random.below(3); n > 0; --n) {
        const auto which = scene_.random.below(scene_.plan.nodes);
        scene_.agenda.after(scene_.about(scene_.plan.busy), [this, which] {
            scene_.nodes[which]->restart();
            users_.listen(static_cast<unsigned>(which));
        });
    }
}

void CmSimulation::run_until(Time time) {
    bool over = false;
    scene_.agenda.at(time, [&over] { over = true; });
    while (!over && scene_.fault.empty() && ++steps_ < most_steps) scene_.agenda.run_next();
}

void CmSimulation::run_to_rest() {
    const Time limit = scene_.agenda.now() + patience;
    while (!scene_.agenda.empty() && scene_.fault.empty()) {
        if (++steps_ >= most_steps || scene_.agenda.now() > limit) return scene_.blame("it does not come to rest");
        scene_.agenda.run_next();
    }
}

void CmSimulation::check_rest() {
    each_user([this](CmUser& user) {
        if (user.told) return scene_.blame("user {} was told and has not polled", user.number);
        if (user.endpoint->poll(scene_.agenda.now())) scene_.blame("user {} was not told of an event", user.number);
        if (!user.word.rests()) scene_.blame("user {} waits for ever", user.number);
        if (!user.word.rests_in(user.endpoint->state())) {
            scene_.blame("user {} rests in state {}", user.number, static_cast<int>(user.endpoint->state()));
        }
    });
}

/// A connection of which one side is gone fails when it is used: then its user closes it. How many there were.
std::uint64_t CmSimulation::close_half_open() {
    const auto before = scene_.summary.half_open;
    each_user([this](CmUser& user) {
        if (!user.word.is_established() || users_.mutual(user) || !user.endpoint) return;
        // Too many messages were lost, or the peer has forgotten everything.
        const bool excused =
            scene_.plan.harsh || scene_.plan.amnesia || (user.peer != 0 && scene_.user(user.peer).forgotten);
        if (!excused) return scene_.blame("user {} is established alone", user.number);
        ++scene_.summary.half_open;
        users_.disconnect(user);
        scene_.nodes[user.node]->watch();
    });
    return scene_.summary.half_open - before;
}

void CmSimulation::close_some() {
    each_user([this](CmUser& user) {
        if (!user.word.is_established() || !scene_.random.chance(0.5)) return;
        users_.disconnect(user);
        scene_.nodes[user.node]->watch();
    });
}

void CmSimulation::let_go() {
    each_user([this](CmUser& user) { users_.drop(user); });
}

void CmSimulation::check_empty() {
    for (const auto& node : scene_.nodes) {
        const auto left = node->manager().size();
        if (left != 0) scene_.blame("node {} keeps {} endpoints", node->number(), left);
        if (node->manager().deadline()) scene_.blame("node {} still waits for something", node->number());
        node->count();
    }
}

CmResult CmSimulation::run() {
    make_nodes();
    plan_restarts();
    run_until(scene_.agenda.now() + scene_.plan.busy);
    scene_.healed = true;
    scene_.say("the network is whole");
    // Ids that come again let one mistake follow another: each ends a connection, so it comes to an end.
    for (std::uint64_t alone = 1; alone > 0 && scene_.fault.empty();) {
        run_to_rest();
        if (scene_.fault.empty()) check_rest();
        alone = scene_.fault.empty() ? close_half_open() : 0;
    }
    if (scene_.fault.empty()) close_some();
    run_to_rest();
    if (scene_.fault.empty()) check_rest();
    if (scene_.fault.empty()) let_go();
    run_to_rest();
    if (scene_.fault.empty()) check_empty();
    scene_.summary.schedules = 1;
    scene_.summary.nodes = scene_.plan.nodes;
    scene_.summary.virtual_time = scene_.agenda.now();
    return {scene_.fault, scene_.summary};
}

}  // namespace

CmResult simulate_cm(Seed seed, bool trace) {
    return CmSimulation(seed, trace).run();
}

CmSummary& CmSummary::operator+=(const CmSummary& other) {
    constexpr std::uint64_t CmSummary::* counts[] = {
        &CmSummary::schedules,       &CmSummary::nodes,        &CmSummary::restarts, &CmSummary::endpoints,
        &CmSummary::connects,        &CmSummary::established,  &CmSummary::rejected, &CmSummary::unanswered,
        &CmSummary::matched,         &CmSummary::disconnected, &CmSummary::dropped,  &CmSummary::half_open,
        &CmSummary::resolved,        &CmSummary::paths,        &CmSummary::messages, &CmSummary::lost,
        &CmSummary::duplicated,      &CmSummary::late,         &CmSummary::stale,    &CmSummary::repeated,
        &CmSummary::duplicates_seen, &CmSummary::stray};
    for (const auto count : counts) this->*count += other.*count;
    virtual_time += other.virtual_time;
    return *this;
}

std::string text(const CmSummary& s) {
    return fmt::format(
        "{} schedules, connection managers, {:.0f} s of virtual time\n"
        "  nodes {}, restarted {}, endpoints {}\n"
        "  connects {}, established {}, rejected {}, unanswered {}, peers matched {}, half open {}\n"
        "  disconnected {}, dropped {}, datagram services resolved {}, alternate paths {}\n"
        "  messages {}, lost {}, duplicated {}, late {}, sent again {}, duplicates seen {}, stale {}, stray {}\n",
        s.schedules, static_cast<double>(s.virtual_time) / 1e9, s.nodes, s.restarts, s.endpoints, s.connects,
        s.established, s.rejected, s.unanswered, s.matched, s.half_open, s.disconnected, s.dropped, s.resolved, s.paths,
        s.messages, s.lost, s.duplicated, s.late, s.repeated, s.duplicates_seen, s.stale, s.stray);
}

}  // namespace verbline::sim
