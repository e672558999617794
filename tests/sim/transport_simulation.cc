// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/transport_simulation.h"

#include <algorithm>

#include <rte_mbuf.h>

#include "tests/sim/transport_schedule.h"

namespace verbline::sim {
namespace {

constexpr Time patience = 600 * second;  ///< after the network is whole again
constexpr std::uint64_t most_steps = 3'000'000;

}  // namespace

/// To the next thing that happens, on the network or in a program.
void TransportSchedule::advance() {
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

void TransportSchedule::collect() {
    while (!news_.empty()) {
        const auto [node, queue] = news_.back();
        news_.pop_back();
        collect(*node, *queue);
        // What came before the arming is not told of.
        queue->arm(transport::CompletionQueue::Armed::any);
        collect(*node, *queue);
    }
}

void TransportSchedule::collect(Node& node, transport::CompletionQueue& queue) {
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

void TransportSchedule::notice_events() {
    for (auto& node : scene_.nodes) {
        for (const auto& event : std::exchange(node.host->events(), {})) {
            if (event.kind == transport::AsyncEventKind::cq_error) scene_.fail("a completion queue overran");
            if (event.kind != transport::AsyncEventKind::send_queue_drained) continue;
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

void TransportSchedule::notice_broken() {
    for (auto& connection : connections_) {
        for (auto& side : connection.sides) side->check_flushed();
        if (!connection.broken() || connection.ending || connection.dead) continue;
        connection.ending = true;
        for (auto& side : connection.sides) std::erase(draining_, side.get());
        after(about(2 * millisecond), [this, c = &connection] { end(*c); });
    }
}

bool TransportSchedule::finished() const {
    if (scene_.now < scene_.plan.trouble_ends) return false;
    return std::ranges::all_of(connections_, [](const Connection& connection) {
        if (connection.ending) return false;
        return connection.dead || std::ranges::all_of(connection.sides, [](const auto& side) {
                   return !side->wants_to_post() && side->sent.empty();
               });
    });
}

SimulationResult TransportSchedule::run() {
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

void TransportSchedule::shut_down() {
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

void TransportSchedule::check_end() {
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

void TransportSchedule::summarize() {
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
SimulationResult simulate(Seed seed, rte_mempool& pool, bool trace) {
    SimulationResult result;
    {
        TransportSchedule simulation(seed, pool, trace);
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
