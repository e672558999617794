// SPDX-License-Identifier: BSD-3-Clause
// A frame from lane to lane through the hub's switch, without what its devices cost; and a change of groups.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include <rte_mbuf.h>

#include <benchmark/benchmark.h>

#include "bench/support/eal.h"
#include "bench/support/quiet_device.h"
#include "datapath/wire/bytes.h"
#include "pmd/bridge/switch.h"

namespace {

using namespace verbline;

wire::MacAddress mac_of(unsigned lane) {
    wire::MacAddress mac{{std::byte{6}}};
    wire::store32(mac.bytes, 2, lane);
    return mac;
}
wire::Gid address_of(unsigned lane) {
    wire::Gid gid;
    wire::store16(gid.bytes, 10, 0xffff);
    wire::store32(gid.bytes, 12, 0x0a63'0001 + lane);
    return gid;
}

/// Receives the frames that it holds, and holds those that it sends.
class Lane final : public bench::QuietDevice {
public:
    std::uint16_t rx_burst(std::uint16_t, pmd::Burst burst) noexcept override {
        const auto n = std::min(burst.size(), frames.size());
        std::copy_n(frames.end() - static_cast<std::ptrdiff_t>(n), n, burst.begin());
        frames.resize(frames.size() - n);
        return static_cast<std::uint16_t>(n);
    }
    std::uint16_t tx_burst(std::uint16_t, pmd::Burst burst) noexcept override {
        back->insert(back->end(), burst.begin(), burst.end());
        return static_cast<std::uint16_t>(burst.size());
    }

    std::vector<rte_mbuf*> frames;
    std::vector<rte_mbuf*>* back = &frames;  ///< where sent frames go
};

/// An IPv4 frame from one lane to another.
rte_mbuf* make_frame(unsigned from, unsigned to) {
    auto* const frame = rte_pktmbuf_alloc(bench::packet_pool());
    const std::span bytes(reinterpret_cast<std::byte*>(rte_pktmbuf_append(frame, 64)), 64);
    std::ranges::fill(bytes, std::byte{});
    std::ranges::copy(mac_of(to).bytes, bytes.begin());
    std::ranges::copy(mac_of(from).bytes, bytes.begin() + 6);
    wire::store16(bytes, 12, 0x0800);
    wire::store16(bytes, 14, 0x4500);
    std::ranges::copy_n(address_of(from).bytes.begin() + 12, 4, bytes.begin() + 26);
    return frame;
}

/// A switch with `lanes` lanes, of which the first sends to the second.
struct Bed {
    Bed(unsigned lanes, bool guarded) {
        for (unsigned i = 0; i < lanes; ++i) {
            auto device = std::make_unique<Lane>();
            devices.push_back(device.get());
            auto guard = guarded ? std::optional(pmd::SourceGuard(mac_of(i), {address_of(i)})) : std::nullopt;
            ids.push_back(fabric.add_lane(std::move(device), mac_of(i), std::move(guard)));
        }
        fabric.upkeep(0, pmd::Switch::Links::all);
        devices[1]->back = &devices[0]->frames;
        for (unsigned i = 0; i < 32; ++i) devices[0]->frames.push_back(make_frame(0, 1));
    }
    ~Bed() {
        for (auto* frame : devices[0]->frames) rte_pktmbuf_free(frame);
    }
    Bed(const Bed&) = delete;
    Bed& operator=(const Bed&) = delete;

    pmd::Switch fabric{{.pool = bench::packet_pool()}};
    std::vector<Lane*> devices;
    std::vector<pmd::Switch::PortId> ids;
};

void SwitchForward(benchmark::State& state) {
    Bed bed(static_cast<unsigned>(state.range(0)), state.range(1) != 0);
    for (auto _ : state) {
        if (!bed.fabric.poll()) return state.SkipWithError("a frame was lost");
    }
    state.SetItemsProcessed(state.iterations() * 32);
}
BENCHMARK(SwitchForward)->ArgNames({"lanes", "guarded"})->ArgsProduct({{2, 64}, {0, 1}});

void SwitchSetGroup(benchmark::State& state) {
    Bed bed(static_cast<unsigned>(state.range(0)), true);
    for (const auto id : bed.ids) {
        for (unsigned group = 0; group < state.range(1); ++group) {
            auto mac = mac_of(group + 100);
            mac.bytes[0] = std::byte{3};
            bed.fabric.set_group(id, mac, true);
        }
    }
    bool member = false;
    for (auto _ : state) bed.fabric.set_group(bed.ids[0], {{std::byte{3}}}, member = !member);
}
BENCHMARK(SwitchSetGroup)->ArgNames({"lanes", "groups"})->Args({2, 4})->Args({64, 4})->Args({256, 4});

}  // namespace
