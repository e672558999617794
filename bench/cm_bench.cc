// SPDX-License-Identifier: BSD-3-Clause
// The connection manager: how endpoints are found, how fast they connect with many others established, what one takes.
#include <deque>
#include <memory>
#include <random>
#include <vector>

#include <malloc.h>

#include <benchmark/benchmark.h>

#include "control/cm/id_table.h"
#include "control/cm/manager.h"
#include "control/cm/remote_table.h"

namespace {

using namespace verbline;

constexpr wire::CmServiceId service{0x0000'0000'0106'1234};
constexpr std::size_t lookups = 1 << 16;

wire::Gid gid_of(unsigned side) {
    return wire::Gid::of(wire::default_subnet_prefix, wire::Guid{0x100 + side});
}

/// Numbers below `size`, in an order that no cache foresees.
std::vector<std::uint32_t> shuffled(std::size_t size) {
    std::mt19937 random(1);
    std::vector<std::uint32_t> order(lookups);
    for (auto& each : order) each = static_cast<std::uint32_t>(random() % size);
    return order;
}

void id_lookup(benchmark::State& state) {
    const auto size = static_cast<std::size_t>(state.range(0));
    cm::IdTable<std::shared_ptr<int>> table(1234);
    std::vector<std::uint32_t> ids;
    for (std::size_t i = 0; i < size; ++i) {
        table.insert([&](std::uint32_t id) { return ids.push_back(id), std::make_shared<int>(); });
    }
    const auto order = shuffled(size);
    std::size_t next = 0;
    for (auto _ : state) benchmark::DoNotOptimize(table.find(ids[order[next++ % lookups]]));
}
BENCHMARK(id_lookup)->Arg(1'000)->Arg(1'000'000);

void remote_lookup(benchmark::State& state) {
    const auto size = static_cast<std::size_t>(state.range(0));
    cm::RemoteTable table(99);
    const auto end = [](std::uint32_t n) { return cm::RemoteEnd::connection(wire::Guid{n % 1000 + 1}, n); };
    for (std::uint32_t i = 0; i < size; ++i) table.insert(end(i), i + 1);
    const auto order = shuffled(size);
    std::size_t next = 0;
    for (auto _ : state) benchmark::DoNotOptimize(table.find(end(order[next++ % lookups])));
}
BENCHMARK(remote_lookup)->Arg(1'000)->Arg(1'000'000);

/// Two managers and nothing between them but a queue.
class Pair {
public:
    Pair() {
        for (unsigned side = 0; side < 2; ++side) {
            channels_[side].queue = &queue_;
            channels_[side].to = 1 - side;
            managers_[side] = cm::Manager::create({.ca_guid = wire::Guid{0x10 + side},
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
        return passive_.back()->state() == cm::State::established;
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
    std::array<std::unique_ptr<cm::Manager>, 2> managers_;
    cm::EndpointPointer listener_;
    std::vector<cm::EndpointPointer> active_, passive_;
};

/// New connections, both ends in one thread, while that many are established. `bytes`: of an endpoint, its handle and
/// its places in tables included.
void connect(benchmark::State& state) {
    const auto before = mallinfo2();
    Pair pair;
    for (auto left = state.range(0); left > 0; --left) {
        if (!pair.connect()) return state.SkipWithError("a connection did not come about");
    }
    const auto after = mallinfo2();
    const auto used =
        static_cast<double>(after.uordblks + after.hblkhd) - static_cast<double>(before.uordblks + before.hblkhd);
    state.counters["bytes"] = used / 2 / static_cast<double>(state.range(0));
    for (auto _ : state) benchmark::DoNotOptimize(pair.connect());
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(connect)->Arg(100)->Arg(100'000)->Iterations(20'000);

}  // namespace
