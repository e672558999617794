// SPDX-License-Identifier: BSD-3-Clause

/// @file
/// IPoIB on each carrier: what it costs to put the headers and CRCs around a packet, and to check and remove them.

#include <cstring>

#include <rte_mbuf.h>

#include <benchmark/benchmark.h>

#include "bench/support/eal.h"
#include "datapath/ipoib/interface.h"
#include "datapath/link/mbuf.h"
#include "datapath/wire/ethernet.h"

namespace verbline {
namespace {

constexpr ipoib::Identity us{.port = {.carrier = link::Carrier::soft_ib, .lid = wire::Lid{3}},
                             .qpn = wire::Qpn{0x48},
                             .qkey = wire::QKey{0xb1b}};
constexpr ipoib::Identity peer{.port = {.carrier = link::Carrier::soft_ib, .lid = wire::Lid{4}},
                               .qpn = wire::Qpn{0x49},
                               .qkey = wire::QKey{0xb1b}};

link::Destination to_peer() {
    return ipoib::destination(us, {.dlid = peer.port.lid}, peer.qpn, wire::ether_type::ipv4);
}

/// A packet of `size` bytes, encapsulated; what was prepended and appended is then taken off again, uncounted work
/// of a few nanoseconds.
void encapsulate(benchmark::State& state) {
    const auto size = static_cast<std::uint16_t>(state.range(0));
    auto* const packet = rte_pktmbuf_alloc(bench::packet_pool());
    std::memset(rte_pktmbuf_append(packet, size), 0x5a, size);
    const auto to = to_peer();
    std::uint32_t psn = 0;
    for (auto _ : state) {
        link::prepend(*packet, to.header);
        benchmark::DoNotOptimize(transport::finish_datagram(*packet, to, wire::Psn(psn++)));
        rte_pktmbuf_adj(packet, to.header.size);
        rte_pktmbuf_trim(packet, static_cast<std::uint16_t>(packet->data_len - size));
    }
    state.SetBytesProcessed(state.iterations() * size);
    rte_pktmbuf_free(packet);
}

void decapsulate(benchmark::State& state) {
    const auto size = static_cast<std::uint16_t>(state.range(0));
    auto* const packet = rte_pktmbuf_alloc(bench::packet_pool());
    std::memset(rte_pktmbuf_append(packet, size), 0x5a, size);
    link::prepend(*packet, to_peer().header);
    transport::finish_datagram(*packet, to_peer(), wire::Psn(1));
    const transport::UdQueuePair qp(peer);
    for (auto _ : state) {
        transport::Packet datagram{.mbuf = packet};
        const bool refused = link::open_headers(datagram.frame(), peer.port.carrier, datagram.arrival) ||
                             link::verify(datagram.frame(), datagram.arrival) || transport::parse(datagram) ||
                             qp.refusal(datagram);
        if (refused) state.SkipWithError("a good frame was refused");
        benchmark::DoNotOptimize(datagram.payload);
    }
    state.SetBytesProcessed(state.iterations() * size);
    rte_pktmbuf_free(packet);
}

BENCHMARK(encapsulate)->Name("ipoib_encapsulate")->Arg(64)->Arg(576)->Arg(1500)->Arg(2044);
BENCHMARK(decapsulate)->Name("ipoib_decapsulate")->Arg(64)->Arg(576)->Arg(1500)->Arg(2044);

}  // namespace
}  // namespace verbline
