// SPDX-License-Identifier: BSD-3-Clause

/// @file
/// A routed packet from end to end on one shard: receive, checks, route, neighbour, headers, transmit. The devices
/// around it only count and hand their buffers back, so that what is measured is the router.

#include <array>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <vector>

#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_rcu_qsbr.h>

#include <benchmark/benchmark.h>

#include "bench/support/eal.h"
#include "bench/support/quiet_device.h"
#include "datapath/link/ip_gid.h"
#include "datapath/router/shard.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/ipv4.h"
#include "pmd/base/file_descriptor.h"

namespace verbline {
namespace {

using forward::InterfaceId, forward::NextHop;
using wire::Ethernet, wire::Ipv4, wire::Ipv4Address;

constexpr std::size_t burst = 32, payload = 26;  // 64 bytes with the Ethernet header and FCS, as a generator counts
constexpr InterfaceId in{0}, out{1};
constexpr wire::MacAddress station(unsigned n) {
    return {{std::byte{2}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0}, static_cast<std::byte>(n)}};
}
constexpr ipoib::Identity us{.port = {.carrier = link::Carrier::soft_ib, .lid = wire::Lid{3}},
                             .qpn = wire::Qpn{0x48},
                             .qkey = wire::QKey{0xb1b}};

/// Receives a burst of packets in each poll, to `flows` destinations in turn, one in each network behind a gateway or
/// all on the link.
class Source final : public bench::QuietDevice {
public:
    Source(unsigned flows, bool by_gateway) : flows_(flows), by_gateway_(by_gateway) {
        Ethernet{.destination = station(1), .source = station(9), .type = wire::ether_type::ipv4}.emit(
            std::span(frame_).first<Ethernet::size>());
    }
    static Ipv4Address on_link(unsigned flow) { return Ipv4Address{0x0a02'0000 + 256 + flow}; }
    static Ipv4Address network(unsigned flow) { return Ipv4Address{0x0b00'0000 + 256 * flow}; }
    std::uint16_t rx_burst(std::uint16_t, pmd::Burst packets) noexcept override {
        const auto n = std::min(packets.size(), burst);
        if (rte_pktmbuf_alloc_bulk(bench::packet_pool(), packets.data(), static_cast<unsigned>(n)) != 0) return 0;
        for (auto* packet : packets.first(n)) {
            next_ = next_ + 1 == flows_ ? 0 : next_ + 1;
            Ipv4{.total_length = Ipv4::size + payload,
                 .time_to_live = 64,
                 .protocol = wire::IpProtocol::udp,
                 .source = wire::ipv4(10, 1, 0, 2),
                 .destination = by_gateway_ ? network(next_) : on_link(next_)}
                .with_checksum()
                .emit(std::span(frame_).subspan<Ethernet::size, Ipv4::size>());
            std::memcpy(rte_pktmbuf_append(packet, frame_.size()), frame_.data(), frame_.size());
        }
        return static_cast<std::uint16_t>(n);
    }

private:
    std::array<std::byte, Ethernet::size + Ipv4::size + payload> frame_{};
    unsigned flows_, next_ = 0;
    bool by_gateway_;
};

/// Takes everything.
class Sink final : public bench::QuietDevice {
public:
    std::uint16_t tx_burst(std::uint16_t, pmd::Burst packets) noexcept override {
        if (!packets.empty()) rte_pktmbuf_free_bulk(packets.data(), static_cast<unsigned>(packets.size()));
        taken += packets.size();
        return static_cast<std::uint16_t>(packets.size());
    }
    std::uint64_t taken = 0;
};

struct Gateway {
    Gateway(router::PortSetup::Kind kind, unsigned flows, bool by_gateway) : source(flows, by_gateway) {
        readers = static_cast<rte_rcu_qsbr*>(rte_zmalloc(nullptr, rte_rcu_qsbr_get_memsize(1), RTE_CACHE_LINE_SIZE));
        rte_rcu_qsbr_init(readers, 1);
        fib = *forward::Fib::create({.max_routes = 8'192, .max_long = 64}, *readers);
        std::ignore = fib->replace({wire::ipv4(10, 2, 0, 0), 16}, {NextHop::Kind::on_link, out});
        shard = std::make_unique<router::Shard>(
            router::ShardSetup{.ports = {{.name = "in", .device = &source, .kernel = &kernel},
                                         {.name = "out", .kind = kind, .device = &sink, .kernel = &kernel}},
                               .fib = fib.get(),
                               .readers = readers,
                               .pool = pool,
                               .commands = &commands,
                               .events = &events});
        command(router::SetEthernet{in, station(1)});
        if (kind == router::PortSetup::Kind::ipoib)
            command(router::SetIpoib{out, us});
        else
            command(router::SetEthernet{out, station(2)});
        for (unsigned flow = 0; flow < flows; ++flow) {
            const auto to =
                kind == router::PortSetup::Kind::ipoib
                    ? ipoib::destination(us, {.dlid = wire::Lid{4}}, wire::Qpn{0x49}, wire::ether_type::ipv4)
                    : link::ethernet_destination(station(2), station(3), wire::ether_type::ipv4);
            command(router::SetNeighbour{out, link::gid_of(Source::on_link(flow)), to});
            if (!by_gateway) continue;
            std::ignore = fib->replace({Source::network(flow), 24}, {NextHop::Kind::via, out, Source::on_link(flow)});
            shard->poll(0);
        }
    }
    ~Gateway() {
        shard.reset();
        fib.reset();
        rte_free(readers);
    }
    void command(const router::Command& one) {
        while (!commands.push(one)) shard->poll(0);
    }

    rte_mempool* pool = bench::packet_pool();  // starts DPDK, before the rings
    bench::QuietDevice kernel;                 ///< the kernel's end of both ports
    Source source;
    Sink sink;
    rte_rcu_qsbr* readers = nullptr;
    std::unique_ptr<forward::Fib> fib;
    router::Ring<router::Command> commands = *router::Ring<router::Command>::create("commands", 64);
    router::Ring<router::Event> events = *router::Ring<router::Event>::create("events", 64);
    std::unique_ptr<router::Shard> shard;
};

void route(benchmark::State& state, router::PortSetup::Kind kind, bool by_gateway = false) {
    Gateway gateway(kind, static_cast<unsigned>(state.range(0)), by_gateway);
    for (int i = 0; i < 64; ++i) gateway.shard->poll(0);
    gateway.sink.taken = 0;
    for (auto _ : state) gateway.shard->poll(0);
    const auto sent = gateway.sink.taken;
    if (sent != static_cast<std::uint64_t>(state.iterations()) * burst)
        state.SkipWithError("a packet was not forwarded");
    state.SetItemsProcessed(static_cast<std::int64_t>(sent));
    state.counters["per_packet"] =
        benchmark::Counter(static_cast<double>(sent), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

/// What the devices of the benchmark themselves cost.
void source_and_sink(benchmark::State& state) {
    bench::packet_pool();
    Source source(1, false);
    Sink sink;
    std::array<rte_mbuf*, burst> packets;
    for (auto _ : state) {
        source.rx_burst(0, packets);
        sink.tx_burst(0, packets);
    }
    state.SetItemsProcessed(static_cast<std::int64_t>(sink.taken));
    state.counters["per_packet"] =
        benchmark::Counter(static_cast<double>(sink.taken), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

BENCHMARK(source_and_sink);
BENCHMARK_CAPTURE(route, to_ethernet, router::PortSetup::Kind::ethernet)->Arg(1)->Arg(4'000);
BENCHMARK_CAPTURE(route, to_ipoib, router::PortSetup::Kind::ipoib)->Arg(1)->Arg(4'000);
BENCHMARK_CAPTURE(route, by_gateways, router::PortSetup::Kind::ethernet, true)->Arg(1)->Arg(4'000);

}  // namespace
}  // namespace verbline
