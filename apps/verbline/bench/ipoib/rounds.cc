// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/ipoib/rounds.h"

#include <cerrno>
#include <utility>

namespace verbline::ipoib_bench {

Result<void> Rounds::run(const std::atomic<bool>& stop) {
    if (auto good = prepare(); !good) return good;
    for (unsigned round = 0; round < plan_.rounds; ++round) {
        auto good = run_round(round % 2 != 0, stop);
        if (good) continue;
        results_.keep_whole_rounds();
        return good.error().code == ECANCELED && results_.rounds() > 0 ? Result<void>() : good;
    }
    return {};
}

Result<void> Rounds::prepare() {
    for (const auto& one : plan_.cases) {
        auto packets = Packets::make(one, plan_.mtu, ports_.pool());
        if (!packets) return std::unexpected(packets.error());
        packets_.push_back(std::move(*packets));
    }
    for (const auto link : plan_.links) ends_.push_back(make_ends(link, ports_.out(), ports_.in(), ports_.pool()));
    return {};
}

/// The links of a case follow each other at once, and every other round in the opposite order: what changes on the
/// machine hits all alike.
Result<void> Rounds::run_round(bool backwards, const std::atomic<bool>& stop) {
    for (std::size_t i = 0; i < plan_.cases.size(); ++i) {
        for (std::size_t j = 0; j < plan_.links.size(); ++j) {
            const auto link = backwards ? plan_.links.size() - 1 - j : j;
            Course course(ends_[link], packets_[i], plan_.cases[i], plan_.burst, ports_.pool());
            auto slice = course.run(plan_.slice, stop);
            if (!slice) return std::unexpected(slice.error());
            results_.series()[i * plan_.links.size() + link].add(*slice);
            done_.fetch_add(1, std::memory_order_relaxed);
        }
    }
    return {};
}

}  // namespace verbline::ipoib_bench
