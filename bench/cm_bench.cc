// SPDX-License-Identifier: BSD-3-Clause
// The connection manager: how endpoints are found, how fast they connect with many others established, what one takes.
#include <algorithm>
#include <array>
#include <condition_variable>
#include <deque>
#include <fstream>
#include <memory>
#include <mutex>
#include <random>
#include <span>
#include <thread>
#include <tuple>
#include <type_traits>
#include <vector>

#include <malloc.h>
#include <time.h>
#include <unistd.h>

#include <benchmark/benchmark.h>

#include "control/cm/communication_id_table.h"
#include "control/cm/manager.h"
#include "control/cm/message.h"
#include "control/cm/reference.h"
#include "control/cm/remote_table.h"
#include "control/cm/session.h"

namespace {

using namespace verbline;

constexpr wire::CmServiceId service{0x0000'0000'0106'1234};
constexpr std::size_t lookups = 1 << 20;
constexpr std::size_t burst_size = 32;  // MADs that a port hands over together: rdma::Datagrams::batch_size

wire::Gid gid_of(unsigned side) {
    return wire::Gid::of(wire::default_subnet_prefix, wire::Guid{0x100 + side});
}

/// Every program of ours has several threads; without another one, locks and counts would cost less than they do there.
class OtherThread {
    std::jthread thread_{[](const std::stop_token& stop) {
        std::mutex mutex;
        std::unique_lock lock(mutex);
        std::condition_variable_any().wait(lock, stop, [] { return false; });
    }};
};

/// Numbers below `size`, in an order that no cache foresees.
std::vector<std::uint32_t> shuffled(std::size_t size) {
    std::mt19937 random(1);
    std::vector<std::uint32_t> order(lookups);
    for (auto& each : order) each = static_cast<std::uint32_t>(random() % size);
    return order;
}

/// As large as the sessions that the manager's table refers to.
struct Thing : cm::Counted {
    std::array<std::byte, sizeof(cm::Session) - sizeof(cm::Counted)> rest{};
};

struct Things {
    explicit Things(std::size_t size) {
        for (std::size_t i = 0; i < size; ++i) {
            table.insert([&](std::uint32_t id) { return ids.push_back(id), cm::Reference<Thing>::make(); });
        }
    }
    /// Ids to be looked up, one after the other.
    std::vector<std::uint32_t> sought() const {
        auto order = shuffled(ids.size());
        for (auto& each : order) each = ids[each];
        return order;
    }
    cm::CommunicationIdTable<Thing> table{1234};
    std::vector<std::uint32_t> ids;
};

/// Single lookups: each waits for memory by itself.
template <class Key, class Find>
void alone(benchmark::State& state, Key&& key, Find&& find) {
    const OtherThread other;
    std::size_t next = 0;
    for (auto _ : state) benchmark::DoNotOptimize(find(key(next++ % lookups)));
}
/// A burst, with the calls that cm::Manager::receive makes for it: of each stage for all, then of the next.
template <class Key, class Find, class... Stage>
void together(benchmark::State& state, Key&& key, Find&& find, Stage&&... stages) {
    const OtherThread other;
    std::array<std::remove_cvref_t<decltype(key(0))>, burst_size> burst;
    std::size_t next = 0;
    const auto for_all = [&](auto& act) {
        for (const auto& each : burst) act(each);
    };
    for (auto _ : state) {
        for (auto& each : burst) each = key(next++ % lookups);
        (for_all(stages), ...);
        for (const auto& each : burst) benchmark::DoNotOptimize(find(each));
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(burst_size));
}

void id_lookup(benchmark::State& state) {
    const Things things(static_cast<std::size_t>(state.range(0)));
    const auto sought = things.sought();
    alone(state, [&](std::size_t n) { return sought[n]; }, [&](auto id) { return things.table.find(id); });
}
BENCHMARK(id_lookup)->Arg(1'000)->Arg(1'000'000);

void id_lookup_burst(benchmark::State& state) {
    const Things things(static_cast<std::size_t>(state.range(0)));
    const auto sought = things.sought();
    const auto& table = things.table;
    together(
        state, [&](std::size_t n) { return sought[n]; }, [&](auto id) { return table.find(id); },
        [&](auto id) { table.prefetch(id); },
        [&](auto id) { table.prefetch_value(id, [](const Thing* at) { __builtin_prefetch(at); }); });
}
BENCHMARK(id_lookup_burst)->Arg(1'000)->Arg(1'000'000);

cm::RemoteEnd remote_end(std::uint32_t n) {
    return cm::RemoteEnd::connection(wire::Guid{n % 1000 + 1}, n);
}

struct RemoteEnds {
    explicit RemoteEnds(std::size_t size) : order(shuffled(size)) {
        for (std::uint32_t i = 0; i < size; ++i) table.insert(remote_end(i), i + 1);
    }
    cm::RemoteTable table{99};
    std::vector<std::uint32_t> order;
};

void remote_lookup(benchmark::State& state) {
    const RemoteEnds ends(static_cast<std::size_t>(state.range(0)));
    alone(
        state, [&](std::size_t n) { return remote_end(ends.order[n]); },
        [&](const auto& end) { return ends.table.find(end); });
}
BENCHMARK(remote_lookup)->Arg(1'000)->Arg(1'000'000);

void remote_lookup_burst(benchmark::State& state) {
    const RemoteEnds ends(static_cast<std::size_t>(state.range(0)));
    together(
        state, [&](std::size_t n) { return remote_end(ends.order[n]); },
        [&](const auto& end) { return ends.table.find(end); }, [&](const auto& end) { ends.table.prefetch(end); });
}
BENCHMARK(remote_lookup_burst)->Arg(1'000)->Arg(1'000'000);

/// CPU time of this thread, so that other threads' work is not counted.
double thread_microseconds() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

/// Fills a table, which grows meanwhile. `longest`: microseconds of the longest insertion.
template <class Insert>
void grow(benchmark::State& state, Insert&& insert) {
    double longest = 0;
    for (std::uint32_t i = 0; i < state.range(0); ++i) {
        const auto before = thread_microseconds();
        insert(i);
        longest = std::max(longest, thread_microseconds() - before);
    }
    state.counters["longest"] = longest;
}
void id_grow(benchmark::State& state) {
    const auto one = cm::Reference<Thing>::make();
    for (auto _ : state) {
        cm::CommunicationIdTable<Thing> table(1234);
        grow(state, [&](std::uint32_t) { table.insert([&](std::uint32_t) { return cm::Reference<Thing>(one); }); });
    }
}
BENCHMARK(id_grow)->Arg(1'100'000)->Iterations(1);
void remote_grow(benchmark::State& state) {
    for (auto _ : state) {
        cm::RemoteTable table(99);
        grow(state, [&](std::uint32_t i) { table.insert(remote_end(i), i + 1); });
    }
}
BENCHMARK(remote_grow)->Arg(1'100'000)->Iterations(1);

/// A manager with many connections to a peer that does not exist: this class writes the messages of the peer.
class Crowd {
public:
    explicit Crowd(std::size_t size) {
        for (std::uint32_t i = 0; i < size; ++i) {
            cm::Request request{.service = service, .qpn = wire::Qpn{i + 1}};
            request.primary.local_gid = gid_of(0);
            request.primary.remote_gid = gid_of(1);
            request.primary.route.address = from_.path.address;
            endpoints_.push_back(manager_->connect(request, now_).value());
            receive(wire::CmRep{.local_id = i + 1, .remote_id = id(i), .qpn = wire::Qpn{i + 1}, .ca_guid = peer_}, i);
            std::ignore = endpoints_.back()->poll(now_);
            std::ignore = endpoints_.back()->ready_to_use({}, now_);
            std::ignore = endpoints_.back()->poll(now_);
        }
    }
    /// Delivers a message to each of these connections, in one burst or singly, and polls each as its user would.
    void deliver(std::span<const std::uint32_t> numbers, bool together) {
        std::array<mad::MadBuffer, burst_size> mads;
        std::vector<mad::GmpArrival> burst;
        burst.reserve(burst_size);
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            // A late MRA changes nothing: the cost is that of finding the endpoint and running it.
            const wire::CmMra mra{.local_id = numbers[i] + 1, .remote_id = ids_[numbers[i]]};
            burst.push_back(mad::GmpArrival::of(from_, mads.at(i) = cm::make_mad(mra, 1)));
        }
        if (together) {
            manager_->receive(burst, now_);
        } else {
            for (const auto& one : burst) manager_->receive({&one, 1}, now_);
        }
        for (const auto number : numbers) benchmark::DoNotOptimize(endpoints_[number]->poll(now_));
    }

private:
    struct Nowhere final : mad::GmpChannel {
        void send(const mad::GmpPeer& /*to*/, mad::MadBytes /*mad*/) noexcept override {}
    };
    std::uint32_t id(std::uint32_t number) {
        return ids_.emplace_back(static_cast<std::uint32_t>(endpoints_[number]->local_id()));
    }
    void receive(const wire::CmRep& rep, std::uint64_t transaction) {
        manager_->receive(from_, cm::make_mad(rep, transaction), now_);
    }

    const wire::Guid peer_{0x11};
    const mad::GmpPeer from_{.path = {.address = {.global = true, .dgid = gid_of(1)}}};
    const Time now_ = second;
    Nowhere nowhere_;
    cm::Manager::Pointer manager_ = cm::Manager::create(cm::Manager::Options{.ca_guid = wire::Guid{0x10}}, nowhere_);
    std::vector<cm::EndpointPointer> endpoints_;
    std::vector<std::uint32_t> ids_;
};

/// A MAD for one of so many connections, received and polled by its user.
void receive(benchmark::State& state, bool together) {
    const OtherThread other;
    const auto size = static_cast<std::size_t>(state.range(0));
    Crowd crowd(size);
    const auto order = shuffled(size);
    std::size_t next = 0;
    for (auto _ : state) {
        crowd.deliver(std::span(order).subspan(next, burst_size), together);
        next = (next + burst_size) % lookups;
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(burst_size));
}
BENCHMARK_CAPTURE(receive, single, false)->Arg(1'000)->Arg(1'000'000);
BENCHMARK_CAPTURE(receive, burst, true)->Arg(1'000)->Arg(1'000'000);

/// Two managers and nothing between them but a queue.
class Pair {
public:
    Pair() {
        for (unsigned side = 0; side < 2; ++side) {
            channels_[side].queue = &queue_;
            channels_[side].to = 1 - side;
            managers_[side] = cm::Manager::create(
                cm::Manager::Options{.ca_guid = wire::Guid{0x10 + side},
                                     .seed = 0x12345u * (side + 1),
                                     .on_ready = {},
                                     .gid_index = [](const wire::Gid&) { return std::optional(0u); }},
                channels_[side]);
        }
        listener_ = managers_[1]->listen(service, ~std::uint64_t{0}, now_).value();
    }

    /// One more, established on both sides.
    bool connect() {
        cm::Request request{.service = service, .qpn = wire::Qpn{++last_qpn_}};
        request.primary.local_gid = gid_of(0);
        request.primary.remote_gid = gid_of(1);
        active_.push_back(managers_[0]->connect(request, now_).value());
        carry();
        auto event = listener_->poll(now_);
        const auto* const received = event ? std::get_if<cm::RequestReceived>(&*event) : nullptr;
        if (received == nullptr) return false;
        passive_.push_back(received->endpoint);
        std::ignore = listener_->poll(now_);
        std::ignore = passive_.back()->reply({.qpn = wire::Qpn{last_qpn_}}, now_);
        carry();
        drain(*active_.back());
        std::ignore = active_.back()->ready_to_use({}, now_);
        carry();
        drain(*passive_.back());
        now_ += 50 * microsecond;
        if (last_qpn_ % 128 == 0) {
            for (auto& manager : managers_) manager->tick(now_);
        }
        return passive_.back()->state() == cm::ConnectionState::established;
    }
    std::size_t size() const { return active_.size(); }

private:
    struct Channel final : mad::GmpChannel {
        std::deque<std::pair<unsigned, mad::MadBuffer>>* queue = nullptr;
        unsigned to = 0;
        void send(const mad::GmpPeer& /*peer*/, mad::MadBytes mad) noexcept override {
            queue->emplace_back(to, mad::MadBuffer{});
            std::ranges::copy(mad, queue->back().second.begin());
        }
    };

    void carry() {
        for (; !queue_.empty(); queue_.pop_front()) {
            const auto& [to, mad] = queue_.front();
            managers_[to]->receive({.path = {.address = {.global = true, .dgid = gid_of(1 - to)}}}, mad, now_);
        }
    }
    void drain(cm::Endpoint& endpoint) {
        while (endpoint.poll(now_)) {}
    }

    Time now_ = second;
    std::uint32_t last_qpn_ = 0;
    std::deque<std::pair<unsigned, mad::MadBuffer>> queue_;
    std::array<Channel, 2> channels_;
    std::array<cm::Manager::Pointer, 2> managers_;
    cm::EndpointPointer listener_;
    std::vector<cm::EndpointPointer> active_, passive_;
};

/// Resident memory of the whole process: tables map memory of their own besides the heap.
double resident_bytes() {
    std::size_t size = 0, resident = 0;
    std::ifstream("/proc/self/statm") >> size >> resident;
    return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

/// New connections, both ends in one thread, while that many are established. `bytes`: of an endpoint, its handle and
/// its places in tables included.
void connect(benchmark::State& state) {
    malloc_trim(0);  // what others have left is not ours
    const auto before = resident_bytes();
    Pair pair;
    for (auto left = state.range(0); left > 0; --left) {
        if (!pair.connect()) return state.SkipWithError("a connection did not come about");
    }
    state.counters["bytes"] = (resident_bytes() - before) / 2 / static_cast<double>(state.range(0));
    for (auto _ : state) benchmark::DoNotOptimize(pair.connect());
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(connect)->Arg(100)->Arg(100'000)->Iterations(20'000);

}  // namespace
