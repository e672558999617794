// SPDX-License-Identifier: BSD-3-Clause
#include "control/cm/early_requests.h"

#include <algorithm>
#include <utility>

namespace verbline::cm {

bool EarlyRequests::keep(const mad::GmpPeer& from, const ReceivedMessage& request, Time now) {
    const auto port = PortAddress::of(from);
    const auto again = [&](const Waiting& waiting) {
        const auto& [sender, message] = waiting.early;
        return PortAddress::of(sender).gid == port.gid && PortAddress::of(sender).lid == port.lid &&
               message.attribute() == request.attribute() && message.sender_id() == request.sender_id();
    };
    const std::scoped_lock lock(mutex_);
    if (std::ranges::any_of(waiting_, again)) return true;
    const auto share = shares_.take(port);
    if (!share) return false;
    waiting_.push_back({.early = {from, request}, .until = now + longest_early_wait, .share = *share});
    deadline_.store(waiting_.front().until, std::memory_order_relaxed);
    return true;
}

template <class Wanted>
std::vector<EarlyRequests::Early> EarlyRequests::remove(Wanted wanted) {
    if (deadline_.load(std::memory_order_relaxed) == none) return {};
    std::vector<Early> removed;
    const std::scoped_lock lock(mutex_);
    std::erase_if(waiting_, [&](Waiting& waiting) {
        if (!wanted(std::as_const(waiting))) return false;
        shares_.give_back(waiting.share);
        removed.push_back(std::move(waiting.early));
        return true;
    });
    deadline_.store(waiting_.empty() ? none : waiting_.front().until, std::memory_order_relaxed);
    return removed;
}

std::vector<EarlyRequests::Early> EarlyRequests::take(wire::CmServiceId service, std::uint64_t mask) {
    const auto sought = static_cast<std::uint64_t>(service);
    return remove([&](const Waiting& waiting) {
        return ((static_cast<std::uint64_t>(waiting.early.message.service()) ^ sought) & mask) == 0;
    });
}

std::vector<EarlyRequests::Early> EarlyRequests::expired(Time now) {
    return remove([&](const Waiting& waiting) { return waiting.until <= now; });
}

std::optional<Time> EarlyRequests::deadline() const {
    const auto first = deadline_.load(std::memory_order_relaxed);
    return first == none ? std::nullopt : std::optional(first);
}

}  // namespace verbline::cm
