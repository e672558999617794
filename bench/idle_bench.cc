// SPDX-License-Identifier: BSD-3-Clause

/// @file
/// How soon a sleeping shard handles an arrival. Its device and the benchmark's thread do nothing else.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <tuple>
#include <vector>

#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_rcu_qsbr.h>

#include <benchmark/benchmark.h>

#include "bench/support/eal.h"
#include "datapath/link/ethernet_interface.h"
#include "datapath/router/runner.h"
#include "pmd/base/clock.h"
#include "pmd/base/event_descriptor.h"

namespace verbline {
namespace {

constexpr wire::MacAddress station{{std::byte{2}}};

/// Notes when it is looked at after a packet has arrived, and when something is sent.
class Device final : public pmd::NetDevice {
public:
    std::string_view name() const override { return "device"; }
    const pmd::Capabilities& capabilities() const override { return capabilities_; }
    Result<void> up() override { return {}; }
    void down() override {}
    bool link_up() override { return true; }
    int rx_event(std::uint16_t) const noexcept override { return event_.get(); }
    void want_rx_event(std::uint16_t, bool wanted) noexcept override {
        if (!wanted) event_.drain();
    }
    std::uint16_t rx_burst(std::uint16_t, pmd::Burst) noexcept override {
        if (arrived_.exchange(false)) seen = monotonic_now();
        return 0;
    }
    std::uint16_t tx_burst(std::uint16_t, pmd::Burst packets) noexcept override {
        if (packets.empty()) return 0;
        seen = monotonic_now();
        rte_pktmbuf_free_bulk(packets.data(), static_cast<unsigned>(packets.size()));
        return static_cast<std::uint16_t>(packets.size());
    }
    void arrive() {
        arrived_ = true;
        event_.signal();
    }
    std::atomic<Time> seen{0};

private:
    pmd::Capabilities capabilities_{};
    EventDescriptor event_ = EventDescriptor::make();
    std::atomic<bool> arrived_{false};
};

/// A shard of one port, and the thread that runs it.
struct Router {
    Router() {
        rte_rcu_qsbr_init(readers.get(), 1);
        fib = *forward::Fib::create({.max_routes = 64, .max_long = 64}, *readers);
        shard = std::make_unique<router::Shard>(
            router::ShardSetup{.ports = {{.name = "port", .device = &device, .kernel = &kernel}},
                               .fib = fib.get(),
                               .readers = readers.get(),
                               .pool = pool,
                               .commands = &commands,
                               .events = &events,
                               .wake = &signal});
        command(router::SetEthernet{{}, station});
        thread = std::thread([this] { router::run(*shard, stop, {}); });
    }
    ~Router() {
        stop = true;
        signal.interrupt();
        thread.join();
    }
    void command(const router::Command& one) {
        std::ignore = commands.push(one);
        signal.wake_up();
    }
    std::uint64_t waits() const {
        std::uint64_t found = 0;
        shard->counters([&](std::string_view, std::string_view name, std::uint64_t value, std::string_view) {
            if (name == "waits") found = value;
        });
        return found;
    }

    rte_mempool* pool = bench::packet_pool();  // starts DPDK, before the rings
    Device device, kernel;
    std::unique_ptr<rte_rcu_qsbr, decltype(&rte_free)> readers{
        static_cast<rte_rcu_qsbr*>(rte_zmalloc(nullptr, rte_rcu_qsbr_get_memsize(1), RTE_CACHE_LINE_SIZE)), rte_free};
    std::unique_ptr<forward::Fib> fib;
    router::Ring<router::Command> commands = *router::Ring<router::Command>::create("commands", 64);
    router::Ring<router::Event> events = *router::Ring<router::Event>::create("events", 64);
    pmd::WakeSignal signal;
    std::unique_ptr<router::Shard> shard;
    std::atomic<bool> stop{false};
    std::thread thread;
};

template <class Arrive>
void wake(benchmark::State& state, Router& router, Arrive arrive) {
    std::vector<Time> times;
    std::uint64_t waits = 0;
    for (auto _ : state) {
        while (router.waits() == waits) std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::microseconds(200));  // until it sleeps
        waits = router.waits();
        router.device.seen = 0;
        const auto began = monotonic_now();
        arrive();
        while (router.device.seen == 0) {}
        times.push_back(router.device.seen - began);
        state.SetIterationTime(static_cast<double>(times.back()) / second);
    }
    std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
    state.counters["median_us"] = static_cast<double>(times[times.size() / 2]) / microsecond;
}

void wake_for_packet(benchmark::State& state) {
    Router router;
    wake(state, router, [&] { router.device.arrive(); });
}

void wake_for_command(benchmark::State& state) {
    Router router;
    const auto to = link::ethernet_destination(station, station, wire::ether_type::ipv4);
    wake(state, router, [&] {
        auto* const packet = rte_pktmbuf_alloc(router.pool);
        rte_pktmbuf_append(packet, 60);
        router.command(router::Transmit{.packet = packet, .to = to});
    });
}

BENCHMARK(wake_for_packet)->Iterations(1'000)->UseManualTime();
BENCHMARK(wake_for_command)->Iterations(1'000)->UseManualTime();

}  // namespace
}  // namespace verbline
