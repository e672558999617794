// SPDX-License-Identifier: BSD-3-Clause

/// @file
/// Software offloads: the Internet checksum and the hash of RSS beside DPDK's own, segmentation of a 64 KB packet, and
/// GRO of a burst.

#include <array>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_thash.h>

#include <benchmark/benchmark.h>

#include "bench/support/eal.h"
#include "datapath/offload/checksum.h"
#include "datapath/offload/gro.h"
#include "datapath/offload/segmentation.h"
#include "datapath/offload/toeplitz.h"
#include "datapath/wire/ipv4.h"
#include "datapath/wire/tcp.h"

namespace verbline {
namespace {

constexpr std::uint16_t headers_size = wire::Ipv4::size + wire::Tcp::size;

void checksum(benchmark::State& state) {
    const std::vector<std::byte> bytes(static_cast<std::size_t>(state.range(0)), std::byte{0x5a});
    for (auto _ : state) benchmark::DoNotOptimize(offload::Sum{}.add(bytes).checksum());
    state.SetBytesProcessed(state.iterations() * state.range(0));
}

void checksum_dpdk(benchmark::State& state) {
    const std::vector<std::byte> bytes(static_cast<std::size_t>(state.range(0)), std::byte{0x5a});
    for (auto _ : state) benchmark::DoNotOptimize(rte_raw_cksum(bytes.data(), bytes.size()));
    state.SetBytesProcessed(state.iterations() * state.range(0));
}

void checksum_while_copying(benchmark::State& state) {
    const std::vector<std::byte> bytes(static_cast<std::size_t>(state.range(0)), std::byte{0x5a});
    std::vector<std::byte> copy(bytes.size());
    for (auto _ : state) benchmark::DoNotOptimize(offload::Sum{}.add_copying(copy.data(), bytes).checksum());
    state.SetBytesProcessed(state.iterations() * state.range(0));
}

/// A TCP packet with `payload` bytes, in as many mbufs as that takes.
rte_mbuf* tcp_packet(std::uint32_t payload, unsigned number = 0, std::uint16_t port = 80) {
    auto* const head = rte_pktmbuf_alloc(bench::packet_pool());
    auto* const at = reinterpret_cast<std::byte*>(rte_pktmbuf_append(head, headers_size));
    const std::span bytes(at, headers_size);
    wire::Ipv4{.total_length = static_cast<std::uint16_t>(headers_size + payload),
               .identification = static_cast<std::uint16_t>(number),
               .dont_fragment = true,
               .protocol = wire::IpProtocol::tcp,
               .source = wire::ipv4(10, 1, 0, 2),
               .destination = wire::ipv4(10, 2, 0, 2)}
        .with_checksum()
        .emit(bytes.first<20>());
    wire::Tcp{.source_port = 1, .destination_port = port, .sequence = number * payload, .flags = wire::tcp_flag::ack}
        .emit(bytes.subspan<20, 20>());
    for (auto* tail = head;;) {
        const auto size = static_cast<std::uint16_t>(std::min<std::uint32_t>(payload, rte_pktmbuf_tailroom(tail)));
        std::memset(rte_pktmbuf_mtod_offset(tail, std::byte*, tail->data_len), 0x5a, size);
        tail->data_len = static_cast<std::uint16_t>(tail->data_len + size);
        head->pkt_len += size;
        payload -= size;
        if (payload == 0) break;
        tail = tail->next = rte_pktmbuf_alloc(bench::packet_pool());
        ++head->nb_segs;
    }
    head->l3_len = wire::Ipv4::size, head->l4_len = wire::Tcp::size;
    return head;
}

/// Segments of one 64 KB packet, with their checksums. The mbufs come from and go back to the pool in the measured
/// time, as they do when frames are sent.
void segmentation(benchmark::State& state) {
    const auto payload = 65'535u - headers_size;
    auto* const packet = tcp_packet(payload);
    packet->ol_flags = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_TCP_CKSUM | RTE_MBUF_F_TX_TCP_SEG;
    packet->tso_segsz = static_cast<std::uint16_t>(state.range(0));
    std::array<rte_mbuf*, pmd::max_burst> segments;
    for (auto _ : state) {
        rte_pktmbuf_refcnt_update(packet, 1);  // the Segmenter's reference
        offload::Segmenter segmenter(packet, *bench::packet_pool());
        while (const auto n = segmenter.next(segments)) rte_pktmbuf_free_bulk(segments.data(), n);
    }
    state.SetBytesProcessed(state.iterations() * payload);
    rte_pktmbuf_free(packet);
}

/// A burst of 32 packets of `flows` flows, 1448 bytes of payload each, in turn; their checksums verified by us or the
/// device.
void gro(benchmark::State& state) {
    constexpr unsigned packets = 32;
    constexpr std::uint32_t payload = 1448;
    const auto flows = static_cast<unsigned>(state.range(0));
    const bool device_verifies = state.range(1) != 0;
    std::array<rte_mbuf*, packets> templates, burst;
    for (unsigned i = 0; i < packets; ++i) {
        templates[i] = tcp_packet(payload, i / flows, static_cast<std::uint16_t>(i % flows));
        templates[i]->ol_flags = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_TCP_CKSUM;
        offload::finish_checksums(*templates[i]);
    }
    // What merging changes is put back, which costs a few nanoseconds per packet and is counted.
    std::array<std::array<std::byte, headers_size>, packets> headers;
    for (unsigned i = 0; i < packets; ++i)
        std::memcpy(headers[i].data(), rte_pktmbuf_mtod(templates[i], void*), headers_size);
    std::uint64_t left = 0;
    for (auto _ : state) {
        for (unsigned i = 0; i < packets; ++i) {
            auto* const m = burst[i] = templates[i];
            m->data_off = RTE_PKTMBUF_HEADROOM;
            m->data_len = static_cast<std::uint16_t>(headers_size + payload);
            m->pkt_len = m->data_len;
            m->nb_segs = 1;
            m->next = nullptr;
            m->ol_flags = device_verifies ? RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD : 0;
            std::memcpy(rte_pktmbuf_mtod(m, void*), headers[i].data(), headers_size);
        }
        left += offload::coalesce(burst);
    }
    state.SetItemsProcessed(state.iterations() * packets);
    state.SetBytesProcessed(state.iterations() * packets * (headers_size + payload));
    state.counters["left"] = static_cast<double>(left) / static_cast<double>(state.iterations());
    state.counters["per_packet"] = benchmark::Counter(static_cast<double>(state.iterations()) * packets,
                                                      benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

/// Addresses and ports of a burst of flows, and a key.
struct Flows {
    explicit Flows(std::size_t size) {
        std::mt19937 random(1);
        for (auto& byte : key) byte = static_cast<std::uint8_t>(random());
        for (auto& input : inputs) {
            for (std::size_t i = 0; i < size; ++i) input.push_back(static_cast<std::byte>(random()));
        }
    }

    alignas(std::uint32_t) std::array<std::uint8_t, offload::Toeplitz::key_size> key;
    std::array<std::vector<std::byte>, pmd::max_burst> inputs;
};

void toeplitz(benchmark::State& state) {
    const Flows flows(static_cast<std::size_t>(state.range(0)));
    const offload::Toeplitz hash(flows.key);
    std::size_t next = 0;
    for (auto _ : state) benchmark::DoNotOptimize(hash(flows.inputs[next++ % flows.inputs.size()]));
}

/// As a packet is hashed: its bytes are in network byte order.
void softrss(benchmark::State& state) {
    Flows flows(static_cast<std::size_t>(state.range(0)));
    std::array<std::uint32_t, offload::Toeplitz::key_size / 4> words, key;
    std::memcpy(words.data(), flows.key.data(), flows.key.size());
    rte_convert_rss_key(words.data(), key.data(), offload::Toeplitz::key_size);
    std::size_t next = 0;
    for (auto _ : state) {
        const auto& bytes = flows.inputs[next++ % flows.inputs.size()];
        std::array<std::uint32_t, offload::Toeplitz::max_input / 4> input;
        const auto size = bytes.size() / 4;
        for (std::size_t i = 0; i < size; ++i) input[i] = wire::load32(bytes, i * 4);
        benchmark::DoNotOptimize(rte_softrss_be(input.data(), static_cast<std::uint32_t>(size),
                                                reinterpret_cast<const std::uint8_t*>(key.data())));
    }
}

BENCHMARK(checksum)->Name("offload_checksum")->Arg(20)->Arg(64)->Arg(1448)->Arg(1992)->Arg(65'536);
BENCHMARK(checksum_dpdk)->Name("rte_raw_cksum")->Arg(20)->Arg(64)->Arg(1448)->Arg(1992)->Arg(65'536);
BENCHMARK(checksum_while_copying)->Name("offload_copy_and_checksum")->Arg(1448)->Arg(1992);
BENCHMARK(toeplitz)->Name("offload_toeplitz")->Arg(12)->Arg(36);
BENCHMARK(softrss)->Name("rte_softrss_be")->Arg(12)->Arg(36);
BENCHMARK(segmentation)->Name("offload_segment_64k")->Arg(1448)->Arg(1992);
BENCHMARK(gro)->Name("offload_gro")->ArgNames({"flows", "device_verifies"})->ArgsProduct({{1, 4, 32}, {0, 1}});

}  // namespace
}  // namespace verbline
