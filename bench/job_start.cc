// SPDX-License-Identifier: BSD-3-Clause
// How a parallel job starts: the processes of one host ask for the routes to all others, 100,000 questions in all, with
// the path cache and without. VERBLINE_SM says where the subnet manager is, as for bench_sa_query:
//
//     apps/testbed/with_fabric --fat-tree 36 18 18 build/bench/job_start
//
// Prints one JSON object per way: seconds, queries that the subnet administrator got, most of them out at a time.
#include <algorithm>
#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "control/loop/loop.h"
#include "control/mad/open.h"
#include "control/sa/client.h"
#include "control/sa/paths.h"

namespace {

using namespace verbline;

constexpr unsigned questions = 100'000;
constexpr unsigned largest_lid = 1024;
constexpr Time limit = 300 * second;

/// One port's view of the fabric while the job starts.
struct Host {
    control::Loop& loop;
    sa::Client client;
    sa::Paths paths;
    std::vector<wire::Gid> others{};
    std::size_t most_outstanding = 0;

    Host(mad::Transport& transport, control::Loop& on)
        : loop(on), client(transport, on), paths(client, on, {.ttl = 600 * second}) {}

    void turn() {
        most_outstanding = std::max(most_outstanding, client.transactions().outstanding());
        loop.run_once(10 * millisecond);
    }
};

/// Every other channel adapter's port GID, found by LID.
void find_others(Host& host) {
    const auto& own = host.client.transport().port();
    unsigned answered = 0;
    for (unsigned lid = 1; lid <= largest_lid; ++lid) {
        host.client.node(wire::Lid{static_cast<std::uint16_t>(lid)}, [&](const sa::Answer<wire::NodeRecord>& answer) {
            ++answered;
            if (!answer || answer->info.type != wire::NodeType::channel_adapter) return;
            const auto gid = wire::Gid::of(own.subnet_prefix, answer->info.port_guid);
            if (gid != own.gid()) host.others.push_back(gid);
        });
    }
    while (answered < largest_lid) host.turn();
}

/// Asks `questions` times, `at_once` at a time; how long it took, or nothing if an answer was no path.
template <class Ask>
bool ask_all(Host& host, unsigned at_once, Ask&& ask, Time& took) {
    const auto began = host.loop.now();
    unsigned asked = 0, answered = 0, failed = 0;
    while (answered < questions && host.loop.now() - began < limit) {
        for (; asked < questions && asked - answered < at_once; ++asked) {
            ask(host.others[asked % host.others.size()], [&](const sa::Answer<wire::PathRecord>& answer) {
                ++answered;
                failed += answer ? 0 : 1;
            });
        }
        if (answered < questions) host.turn();
    }
    took = host.loop.now() - began;
    return answered == questions && failed == 0;
}

void print(const Host& host, bool cached, Time took, std::uint64_t queries) {
    fmt::print(
        "{{\"cache\": {}, \"routes\": {}, \"pairs\": {}, \"seconds\": {:.4f}, \"queries\": {}, "
        "\"most_outstanding\": {}}}\n",
        cached, questions, host.others.size(), static_cast<double>(took) / second, queries, host.most_outstanding);
}

int fail(const char* what) {
    fmt::print(stderr, "job_start: {}\n", what);
    return 1;
}

}  // namespace

int main() {
    const char* const spec = std::getenv("VERBLINE_SM");
    if (spec == nullptr) return fail("VERBLINE_SM does not say where a subnet manager is");
    const auto loop = control::Loop::create();
    if (!loop) return fail(loop.error().what.c_str());
    const auto transport = mad::open(spec, **loop);
    if (!transport) return fail(transport.error().what.c_str());
    Host host(**transport, **loop);
    find_others(host);
    if (host.others.empty()) return fail("there is no other host");

    const auto requests = [&] { return host.client.transactions().counters().requests.value(); };
    Time took = 0;
    // All processes of the host ask at once; the cache makes one question of those for the same route.
    host.most_outstanding = 0;
    auto before = requests();
    if (!ask_all(
            host, questions,
            [&](const wire::Gid& to, auto reply) {
                host.paths.resolve(host.paths.key(to, wire::PKey{0xffff}), std::move(reply));
            },
            took)) {
        return fail("with the cache: not every route was found");
    }
    print(host, true, took, requests() - before);

    host.most_outstanding = 0;
    before = requests();
    const auto own = host.client.transport().port().gid();
    if (!ask_all(
            host, mad::Transactions::max_queued,
            [&](const wire::Gid& to, auto reply) {
                host.client.path({.destination_gid = to, .source_gid = own, .pkey = wire::PKey{0xffff}},
                                 wire::path_component::destination_gid | wire::path_component::source_gid,
                                 std::move(reply));
            },
            took)) {
        return fail("without the cache: not every route was found");
    }
    print(host, false, took, requests() - before);
    return 0;
}
