// SPDX-License-Identifier: BSD-3-Clause
// The side of the threads that send, receive and sleep.
#include <cstddef>
#include <tuple>
#include <utility>

#include <rte_mbuf.h>

#include "pmd/bridge/frame.h"
#include "pmd/direct/direct_links.h"
#include "pmd/direct/table.h"

namespace verbline::pmd {
namespace {

constexpr std::size_t receiver = 0, sender = 1;  ///< of the gate

}  // namespace

std::uint16_t DirectLinks::tx_burst(std::uint16_t queue, Burst burst) noexcept {
    if (burst.empty()) return inner().tx_burst(queue, burst);
    return gate_.with(sender, std::uint16_t{0}, [&](Table& table) {
        std::size_t sent = 0;
        for (bool whole = true; whole && sent < burst.size();) {
            auto* const link = path(table, *burst[sent]);
            std::size_t end = sent + 1;
            while (end < burst.size() && path(table, *burst[end]) == link) ++end;
            const auto run = burst.subspan(sent, end - sent);
            auto taken = link != nullptr ? link->send(run, tx_counters_) : std::uint16_t{0};
            if (link == nullptr || !link->begun()) taken = inner().tx_burst(queue, run);  // the peer is not there yet
            whole = taken == run.size();
            sent += taken;
        }
        return static_cast<std::uint16_t>(sent);
    });
}

/// The link for the frame; null: the lane.
DirectLink* DirectLinks::path(Table& table, const rte_mbuf& frame) noexcept {
    if (is_runt(frame)) return nullptr;
    const auto to = destination_mac(frame);
    if (to == table.last_destination) return table.last_path;
    if (is_group(to)) return nullptr;
    const auto found = table.paths.find(to);
    if (found == table.paths.end()) {
        leave_word(to);
        return nullptr;
    }
    table.last_destination = to;
    return table.last_path = found->second;
}

void DirectLinks::leave_word(std::uint64_t peer) noexcept {
    if (wanted_.load(std::memory_order_acquire) != 0) return;
    wanted_.store(peer, std::memory_order_release);
    urgent_.store(true, std::memory_order_release);
}

std::uint16_t DirectLinks::rx_burst(std::uint16_t queue, Burst burst) noexcept {
    return gate_.with(receiver, std::uint16_t{0}, [&](Table& table) {
        const auto links = table.receivers.size();
        if (links == 0) return inner().rx_burst(queue, burst);
        std::size_t received = 0;
        auto at = next_ = next_ < links ? next_ + 1 : 0;
        for (std::size_t i = 0; i <= links && received < burst.size(); ++i, at = at < links ? at + 1 : 0) {
            const auto rest = burst.subspan(received);
            if (at < links) {
                received += table.receivers[at]->receive(rest, rx_counters_);
                continue;
            }
            const auto by_lane = inner().rx_burst(queue, rest);
            detect_lost_links(table, rest.first(by_lane));
            received += by_lane;
        }
        return static_cast<std::uint16_t>(received);
    });
}

/// A peer that has a link but sends over the lane has most likely lost the link, by a restart.
void DirectLinks::detect_lost_links(Table& table, Burst frames) noexcept {
    for (const auto* const frame : frames) {
        if (is_runt(*frame) || is_group(destination_mac(*frame))) continue;
        const auto from = source_mac(*frame);
        if (from == std::exchange(table.last_source, from)) continue;
        const auto found = table.paths.find(from);
        if (found != table.paths.end() && found->second != nullptr) urgent_.store(true, std::memory_order_release);
    }
}

int DirectLinks::rx_event(std::uint16_t) const noexcept {
    return deaf_ ? -1 : wakeups_.fd();
}

/// A link's descriptor is the same as long as the link lasts; the lane's may be another each time.
void DirectLinks::want_rx_event(std::uint16_t queue, bool wanted) noexcept {
    wakeups_.wait(0, [this](std::uint64_t tag) {
        if (tag == control) urgent_.store(true, std::memory_order_release);
    });
    gate_.with(receiver, false, [&](Table& table) {
        for (auto* const link : table.receivers) {
            const int event = link->pair().rx_event(0);
            if (wanted && event >= 0 && !link->wanted_before) link->wanted_before = wakeups_.add(event, packets);
            link->pair().want_rx_event(0, wanted);
        }
        return true;
    });
    deaf_ = false;
    if (!wanted) return inner().want_rx_event(queue, false);
    if (!wakeups_.want(inner(), queue, packets)) deaf_ = lane_up_.load(std::memory_order_relaxed);
}

}  // namespace verbline::pmd
