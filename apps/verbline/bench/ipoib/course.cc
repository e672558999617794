// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/ipoib/course.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include <rte_cycles.h>
#include <rte_mbuf.h>

#include <fmt/format.h>

#include "apps/verbline/bench/figures.h"
#include "datapath/offload/gro_segment.h"
#include "pmd/base/clock.h"
#include "pmd/rx_checksum.h"

namespace verbline::ipoib_bench {
namespace {

constexpr Time patience = 200 * millisecond;  ///< until what has not arrived is lost
constexpr std::size_t usual_bursts = 1 << 16;

/// The cycles that `work` takes.
std::uint64_t timed(auto&& work) {
    const auto begin = rte_rdtsc();
    work();
    return rte_rdtsc() - begin;
}

/// Asks of each packet what coalescing asks before it hands packets up.
std::uint64_t damaged_of(pmd::Burst packets) {
    return static_cast<std::uint64_t>(
        std::ranges::count_if(packets, [](const rte_mbuf* packet) { return !offload::intact(*packet, 0); }));
}

void free_all(const link::Reception& got) {
    for (std::size_t i = 0; i < got.ip_count; ++i) rte_pktmbuf_free(got.ip[i]);
    for (std::size_t i = 0; i < got.ipv6_count; ++i) rte_pktmbuf_free(got.ipv6[i]);
    for (std::size_t i = 0; i < got.punt_count; ++i) rte_pktmbuf_free(got.punts[i].packet);
}

}  // namespace

Result<Slice> Course::run(Time duration, const std::atomic<bool>& stop) {
    if (auto first = burst(true); !first) return std::unexpected(first.error());
    if (slice_.counts.received == 0)
        return failure(ENODATA, fmt::format("nothing arrives at {} of what {} sends; connect them",
                                            ends_.receiver->device().name(), ends_.sender->device().name()));
    std::vector<double> send, receive;
    send.reserve(usual_bursts), receive.reserve(usual_bursts);
    const auto until = monotonic_now() + duration;
    do {
        if (stop.load(std::memory_order_relaxed)) return failure(ECANCELED, "interrupted");
        auto cycles = burst(false);
        if (!cycles) return std::unexpected(cycles.error());
        send.push_back(static_cast<double>(cycles->send) / static_cast<double>(burst_));
        receive.push_back(static_cast<double>(cycles->receive) / static_cast<double>(burst_));
    } while (monotonic_now() < until);
    slice_.send_cycles = bench::interquartile_mean(send), slice_.receive_cycles = bench::interquartile_mean(receive);
    return slice_;
}

/// `first`: warms caches up, and is looked at closely.
Result<Course::Cycles> Course::burst(bool first) {
    Cycles cycles;
    std::array<rte_mbuf*, pmd::max_burst> packets;
    const auto pieces = burst_ * packets_.pieces();
    for (std::size_t done = 0; done < pieces;) {
        const auto part = pmd::Burst(packets).first(std::min(pieces - done, packets.size()));
        if (!packets_.fill(part, done, pool_)) return failure(ENOMEM, "no packet buffer is free");
        if (first && case_.requests)
            slice_.send = ends_.sender->device_satisfies(*part.front()) ? Worker::device : Worker::software;
        done += part.size();
        cycles.send += send(part, done == pieces);
    }
    receive(first, cycles);
    return cycles;
}

std::uint64_t Course::send(pmd::Burst packets, bool last) {
    std::array<const link::Destination*, pmd::max_burst> to;
    to.fill(&ends_.to_receiver);
    return timed([&] {
        ends_.sender->transmit(packets, link::Destinations(to).first(packets.size()));
        if (last) ends_.sender->flush();
    });
}

void Course::receive(bool first, Cycles& cycles) {
    const auto expected = burst_ * packets_.frames();
    std::uint64_t received = 0, damaged = 0;
    link::Reception got;
    for (auto until = monotonic_now() + patience; received < expected && monotonic_now() < until;) {
        if (ends_.sender->staged() > 0) cycles.send += timed([&] { ends_.sender->flush(); });
        const auto taken = timed([&] {
            ends_.receiver->receive(got);
            if (case_.requests) damaged += damaged_of(pmd::Burst(got.ip).first(got.ip_count));
        });
        if (got.frames == 0) continue;
        cycles.receive += taken;
        received += got.ip_count;
        if (first) look_at(pmd::Burst(got.ip).first(got.ip_count), damaged);
        free_all(got);
        until = monotonic_now() + patience;
    }
    slice_.counts += {.sent = expected, .received = received, .damaged = damaged};
}

/// What a receiver that asks for nothing got is looked at here, where it costs no measured time.
void Course::look_at(pmd::Burst packets, std::uint64_t& damaged) {
    if (!case_.requests) {
        damaged += damaged_of(packets);
        return;
    }
    const bool all = std::ranges::all_of(packets, [](const rte_mbuf* packet) {
        return pmd::ip_checksum_verified(*packet) && pmd::l4_checksum_verified(*packet);
    });
    slice_.receive = all ? Worker::device : Worker::software;
}

}  // namespace verbline::ipoib_bench
