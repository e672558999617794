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

using link::Carrier;

ipoib::Identity port(Carrier carrier, std::uint16_t number) {
    const auto gid = wire::Gid::of(wire::default_subnet_prefix, wire::Guid{number});
    return {.port = {.carrier = carrier, .gid = gid, .lid = wire::Lid{number}},
            .qpn = wire::Qpn{0x45u + number},
            .qkey = wire::QKey{0xb1b}};
}
ipoib::Identity us(Carrier carrier) {
    return port(carrier, 3);
}
ipoib::Identity peer(Carrier carrier) {
    return port(carrier, 4);
}

link::Destination to_peer(Carrier carrier) {
    const auto to = peer(carrier);
    const wire::AddressHandle address{.dlid = to.port.lid, .global = carrier != Carrier::soft_ib, .dgid = to.port.gid};
    return ipoib::destination(us(carrier), address, to.qpn, wire::ether_type::ipv4);
}

/// A packet of `size` bytes, encapsulated; what was prepended and appended is then taken off again, uncounted work
/// of a few nanoseconds.
void encapsulate(benchmark::State& state, Carrier carrier) {
    const auto size = static_cast<std::uint16_t>(state.range(0));
    auto* const packet = rte_pktmbuf_alloc(bench::packet_pool());
    std::memset(rte_pktmbuf_append(packet, size), 0x5a, size);
    const auto to = to_peer(carrier);
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

void decapsulate(benchmark::State& state, Carrier carrier) {
    const auto size = static_cast<std::uint16_t>(state.range(0));
    auto* const packet = rte_pktmbuf_alloc(bench::packet_pool());
    std::memset(rte_pktmbuf_append(packet, size), 0x5a, size);
    const auto to = to_peer(carrier);
    link::prepend(*packet, to.header);
    transport::finish_datagram(*packet, to, wire::Psn(1));
    const transport::UdQueuePair qp(peer(carrier));
    for (auto _ : state) {
        transport::Packet datagram{.mbuf = packet};
        const bool refused = link::open_headers(datagram.frame(), carrier, datagram.arrival) ||
                             link::verify(datagram.frame(), datagram.arrival) || transport::parse(datagram) ||
                             qp.discard(datagram);
        if (refused) state.SkipWithError("a good frame was refused");
        benchmark::DoNotOptimize(datagram.payload);
    }
    state.SetBytesProcessed(state.iterations() * size);
    rte_pktmbuf_free(packet);
}

#define SIZES ->Arg(64)->Arg(576)->Arg(1500)->Arg(2044)
BENCHMARK_CAPTURE(encapsulate, soft_ib, Carrier::soft_ib)->Name("ipoib_encapsulate") SIZES;
BENCHMARK_CAPTURE(decapsulate, soft_ib, Carrier::soft_ib)->Name("ipoib_decapsulate") SIZES;
BENCHMARK_CAPTURE(encapsulate, roce_v2, Carrier::roce_v2_ipv6)->Name("ipoib_roce_encapsulate") SIZES;
BENCHMARK_CAPTURE(decapsulate, roce_v2, Carrier::roce_v2_ipv6)->Name("ipoib_roce_decapsulate") SIZES;

}  // namespace
}  // namespace verbline
