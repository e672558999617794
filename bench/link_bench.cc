// SPDX-License-Identifier: BSD-3-Clause
// A packet put on a carrier and taken off it, beside the ICRC alone, which both contain. Arguments: bytes of payload.
#include <cstddef>
#include <cstdint>
#include <vector>

#include <benchmark/benchmark.h>

#include "datapath/link/arrival.h"
#include "datapath/link/envelope.h"
#include "datapath/link/ip_gid.h"
#include "datapath/wire/bth.h"
#include "datapath/wire/icrc.h"

namespace {

using namespace verbline;
using link::Carrier;

link::Envelope envelope_on(Carrier carrier) {
    const link::SourceAddress from{
        .carrier = carrier, .ecn = true, .gid = link::gid_of(wire::ipv4(10, 1, 0, 1)), .lid = wire::Lid{3}};
    return link::make_envelope(from, {.dlid = wire::Lid{4}, .dgid = link::gid_of(wire::ipv4(10, 1, 0, 2))}, {}, 0xc000);
}

void seal_frame(std::span<std::byte> frame, const link::Envelope& envelope, std::uint16_t ip_id) {
    link::write_headers(frame, envelope, ip_id);
    link::write_crcs(frame, link::sealing_of(envelope));
}

std::vector<std::byte> frame_on(const link::Envelope& envelope, benchmark::State& state) {
    std::vector<std::byte> frame(envelope.size + wire::Bth::size + static_cast<std::size_t>(state.range(0)) +
                                 link::trailer_size(envelope.carrier));
    seal_frame(frame, envelope, 1);
    return frame;
}

void seal(benchmark::State& state, Carrier carrier) {
    const auto envelope = envelope_on(carrier);
    auto frame = frame_on(envelope, state);
    std::uint16_t id = 0;
    for (auto _ : state) {
        seal_frame(frame, envelope, ++id);
        benchmark::ClobberMemory();
    }
}

/// A burst, in two steps; the time is that of one frame.
void seal_burst(benchmark::State& state, Carrier carrier) {
    constexpr int burst = 32;
    const auto envelope = envelope_on(carrier);
    std::vector<std::vector<std::byte>> frames(burst, frame_on(envelope, state));
    std::uint16_t id = 0;
    while (state.KeepRunningBatch(burst)) {
        for (auto& frame : frames) link::write_headers(frame, envelope, ++id);
        for (auto& frame : frames) link::write_crcs(frame, link::sealing_of(envelope));
        benchmark::ClobberMemory();
    }
}

void open(benchmark::State& state, Carrier carrier) {
    const auto frame = frame_on(envelope_on(carrier), state);
    for (auto _ : state) {
        link::Arrival arrival;
        if (link::open_headers(frame, arrival) || link::verify(frame, arrival))
            state.SkipWithError("a good frame was refused");
        benchmark::DoNotOptimize(arrival.end);
    }
}

/// A packet of a connection, from the QP that sends to the QP that receives.
void seal_open_answers(benchmark::State& state, Carrier carrier) {
    const auto envelope = envelope_on(carrier);
    auto frame = frame_on(envelope, state);
    std::uint16_t id = 0;
    for (auto _ : state) {
        seal_frame(frame, envelope, ++id);
        link::Arrival arrival;
        benchmark::DoNotOptimize(link::open_headers(frame, arrival));
        benchmark::DoNotOptimize(link::verify(frame, arrival));
        benchmark::DoNotOptimize(link::answers(frame, arrival, envelope));
    }
}

void icrc_alone(benchmark::State& state, Carrier carrier) {
    const auto envelope = envelope_on(carrier);
    const auto frame = frame_on(envelope, state);
    const auto covered = wire::Bytes(frame).subspan(envelope.covered_at);
    for (auto _ : state) benchmark::DoNotOptimize(wire::icrc_ok(wire::IcrcOver::ipv4, covered));
}

#define CARRIERS(function)                                                                \
    BENCHMARK_CAPTURE(function, roce_v2_ipv4, Carrier::roce_v2_ipv4)->Arg(64)->Arg(4096); \
    BENCHMARK_CAPTURE(function, roce_v2_ipv6, Carrier::roce_v2_ipv6)->Arg(64)->Arg(4096); \
    BENCHMARK_CAPTURE(function, roce_v1, Carrier::roce_v1)->Arg(64)->Arg(4096);           \
    BENCHMARK_CAPTURE(function, soft_ib, Carrier::soft_ib)->Arg(64)->Arg(4096);
BENCHMARK_CAPTURE(icrc_alone, roce_v2_ipv4, Carrier::roce_v2_ipv4)->Arg(64)->Arg(4096);
CARRIERS(seal)
CARRIERS(seal_burst)
CARRIERS(open)
CARRIERS(seal_open_answers)

}  // namespace
