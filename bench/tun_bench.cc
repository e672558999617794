// SPDX-License-Identifier: BSD-3-Clause
// What it costs to move a packet between the kernel and an mbuf, one system call each way.
#include <array>
#include <cstdlib>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_udp.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <benchmark/benchmark.h>

#include "bench/support/eal.h"
#include "pmd/tun/tun.h"

namespace {

using namespace verbline;

/// A TUN in a network namespace of the benchmark's own; the calling thread stays there.
std::unique_ptr<pmd::Tun> open_tun() {
    if (unshare(CLONE_NEWNET) != 0) return nullptr;
    auto tun = pmd::Tun::create({.name = "bench0", .mtu = 65535, .transmit_queue_length = 10000}, bench::packet_pool());
    if (!tun || !(*tun)->up() || std::system("ip address add 10.9.0.1/24 dev bench0") != 0) return nullptr;
    return std::move(*tun);
}

/// A UDP datagram that the kernel takes in and then routes nowhere.
rte_mbuf* datagram(std::size_t payload) {
    const auto size = sizeof(rte_ipv4_hdr) + sizeof(rte_udp_hdr) + payload;
    auto* head = rte_pktmbuf_alloc(bench::packet_pool());
    for (auto* tail = head; tail != nullptr;) {
        const auto part = std::min<std::size_t>(size - head->pkt_len, rte_pktmbuf_tailroom(tail));
        tail->data_len = static_cast<std::uint16_t>(part);
        head->pkt_len += static_cast<std::uint32_t>(part);
        if (head->pkt_len == size) break;
        tail = tail->next = rte_pktmbuf_alloc(bench::packet_pool());
        ++head->nb_segs;
    }
    auto* ip = rte_pktmbuf_mtod(head, rte_ipv4_hdr*);
    *ip = {.version_ihl = 0x45,
           .total_length = htons(static_cast<std::uint16_t>(size)),
           .time_to_live = 64,
           .next_proto_id = IPPROTO_UDP,
           .src_addr = inet_addr("10.9.0.2"),
           .dst_addr = inet_addr("10.9.0.3")};
    auto* udp = reinterpret_cast<rte_udp_hdr*>(ip + 1);
    *udp = {htons(9), htons(9), htons(static_cast<std::uint16_t>(size - sizeof(*ip))), 0};
    head->ol_flags = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_UDP_CKSUM;
    head->l3_len = sizeof(*ip);
    head->l4_len = sizeof(*udp);
    return head;
}

void TunWrite(benchmark::State& state) {
    const auto tun = open_tun();
    if (!tun) return state.SkipWithError("needs root");
    const auto payload = static_cast<std::size_t>(state.range(0));
    std::int64_t packets = 0;
    for (auto _ : state) {
        auto* packet = datagram(payload);
        packets += tun->tx_burst(0, std::span(&packet, 1));
    }
    state.SetItemsProcessed(packets);
    state.SetBytesProcessed(packets * state.range(0));
}
BENCHMARK(TunWrite)->Arg(64)->Arg(1400)->Arg(16000)->Arg(65000);

/// A socket sends, we read: the time of the read alone.
void TunRead(benchmark::State& state) {
    const auto tun = open_tun();
    if (!tun) return state.SkipWithError("needs root");
    const FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM, 0));
    const int buffer = 64 << 20;
    setsockopt(socket.get(), SOL_SOCKET, SO_SNDBUFFORCE, &buffer, sizeof(buffer));
    sockaddr_in to{.sin_family = AF_INET, .sin_port = htons(9), .sin_addr = {inet_addr("10.9.0.2")}};
    std::vector<char> payload(static_cast<std::size_t>(state.range(0)));
    std::array<rte_mbuf*, 32> burst;
    std::int64_t packets = 0;
    while (const auto n = tun->rx_burst(0, burst)) rte_pktmbuf_free_bulk(burst.data(), n);
    for (auto _ : state) {
        state.PauseTiming();
        for (unsigned i = 0; i < burst.size(); ++i) {
            sendto(socket.get(), payload.data(), payload.size(), 0, reinterpret_cast<sockaddr*>(&to), sizeof(to));
        }
        state.ResumeTiming();
        const auto n = tun->rx_burst(0, burst);
        packets += n;
        rte_pktmbuf_free_bulk(burst.data(), n);
    }
    state.SetItemsProcessed(packets);
    state.SetBytesProcessed(packets * state.range(0));
}
BENCHMARK(TunRead)->Arg(64)->Arg(1400)->Arg(16000)->Arg(65000);

void TunEmpty(benchmark::State& state) {
    const auto tun = open_tun();
    if (!tun) return state.SkipWithError("needs root");
    std::array<rte_mbuf*, 32> burst;
    while (const auto n = tun->rx_burst(0, burst)) rte_pktmbuf_free_bulk(burst.data(), n);
    for (auto _ : state) benchmark::DoNotOptimize(tun->rx_burst(0, burst));
}
BENCHMARK(TunEmpty);

}  // namespace
