// SPDX-License-Identifier: BSD-3-Clause
// ICRC beside the bare CRC-32 of ISA-L on the same bytes, which is its limit; VCRC by either engine; both checks of a
// whole packet. Arguments are the bytes covered, headers included.
#include <cstddef>
#include <cstdint>
#include <vector>

#include <benchmark/benchmark.h>
#include <isa-l/crc.h>

#include "datapath/wire/bth.h"
#include "datapath/wire/ib_packet.h"
#include "datapath/wire/icrc.h"
#include "datapath/wire/ipv4.h"
#include "datapath/wire/lrh.h"
#include "datapath/wire/vcrc.h"

namespace {

using namespace verbline::wire;

/// RoCE v2 over IPv4, without the ICRC.
std::vector<std::byte> roce_packet(std::size_t size) {
    std::vector<std::byte> packet(size);
    for (std::size_t i = 0; i < size; ++i) packet[i] = static_cast<std::byte>(i * 7);
    Ipv4{.total_length = static_cast<std::uint16_t>(size)}.emit(std::span(packet).first<Ipv4::size>());
    return packet;
}

/// A packet from the LRH through the VCRC.
std::vector<std::byte> ib_packet(std::size_t size) {
    std::vector<std::byte> packet(size + vcrc_size);
    Lrh{.packet_words = static_cast<std::uint16_t>(size / 4)}.emit(std::span(packet).first<Lrh::size>());
    Bth{}.emit(std::span(packet).subspan<Lrh::size, Bth::size>());
    seal(packet);
    return packet;
}

void report(benchmark::State& state) {
    state.SetBytesProcessed(state.iterations() * state.range(0));
}

void bare_crc32(benchmark::State& state) {
    auto packet = roce_packet(static_cast<std::size_t>(state.range(0)));
    for (auto _ : state) {
        benchmark::DoNotOptimize(crc32_gzip_refl(0, reinterpret_cast<unsigned char*>(packet.data()), packet.size()));
    }
    report(state);
}

void icrc(benchmark::State& state) {
    const auto packet = roce_packet(static_cast<std::size_t>(state.range(0)));
    for (auto _ : state) benchmark::DoNotOptimize(Icrc::begin(IcrcOver::ipv4, packet)->value());
    report(state);
}

void vcrc(benchmark::State& state, Vcrc::Engine engine) {
    const auto packet = roce_packet(static_cast<std::size_t>(state.range(0)));
    for (auto _ : state) {
        Vcrc crc(engine);
        crc.add(packet);
        benchmark::DoNotOptimize(crc.value());
    }
    report(state);
}

void seal_packet(benchmark::State& state) {
    auto packet = ib_packet(static_cast<std::size_t>(state.range(0)));
    for (auto _ : state) benchmark::DoNotOptimize(seal(packet));
    report(state);
}

void verify_packet(benchmark::State& state) {
    const auto packet = ib_packet(static_cast<std::size_t>(state.range(0)));
    for (auto _ : state) benchmark::DoNotOptimize(verify(packet));
    report(state);
}

// Those that end a few bytes behind a power of two are common: headers are of any multiple of four bytes.
#define SIZES ->RangeMultiplier(2)->Range(64, 4096)->Arg(76)->Arg(124)->Arg(188)
BENCHMARK(bare_crc32) SIZES;
BENCHMARK(icrc) SIZES;
BENCHMARK_CAPTURE(vcrc, table, Vcrc::Engine::table) SIZES;
BENCHMARK_CAPTURE(vcrc, best, Vcrc::best()) SIZES;
BENCHMARK(seal_packet) SIZES;
BENCHMARK(verify_packet) SIZES;

}  // namespace
