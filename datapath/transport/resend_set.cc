// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/transport/resend_set.h"

#include <algorithm>
#include <utility>

#include "datapath/transport/selective_ack.h"

namespace verbline::transport {

void ResendSet::reset(wire::Psn acknowledged) {
    acknowledged_ = scan_ = acknowledged;
    highest_ = acknowledged + 0xff'ffff;  // the one before: nothing has arrived
    packets_.fill({});
}

void ResendSet::update(wire::Psn expected, wire::Bytes map, wire::Psn next) {
    misses(expected);
    auto behind = expected + 1;  // first PSN behind the last one seen in the map
    SelectiveAck::visit(map, [&](std::uint32_t distance) {
        const auto psn = expected + 1 + distance;
        if (psn - acknowledged_ < 0 || psn - next >= 0) return;  // outdated, or bogus
        for (; psn - behind > 0; behind = behind + 1) withdraw(behind);
        behind = psn + 1;
        at(psn).arrived = true;
        if (psn - highest_ > 0) highest_ = psn;
    });
    for (; highest_ - behind >= 0; behind = behind + 1) withdraw(behind);
}

void ResendSet::misses(wire::Psn expected) {
    withdraw(expected);
    scan_ = acknowledged_;
}

/// Clears a packet's arrival (evicted by the peer, or never reported). A retransmission on its way stays counted.
void ResendSet::withdraw(wire::Psn psn) {
    if (psn - acknowledged_ < 0 || psn - highest_ > 0) return;
    auto& packet = at(psn);
    if (std::exchange(packet.arrived, false)) packet.resent = false;
}

void ResendSet::advance(wire::Psn psn) {
    for (; psn - acknowledged_ > 0; acknowledged_ = acknowledged_ + 1) at(acknowledged_) = {};
    if (acknowledged_ - scan_ > 0) scan_ = acknowledged_;
}

bool ResendSet::missing(wire::Psn psn) const {
    const auto& packet = at(psn);
    return !packet.arrived && (!packet.resent || highest_ - packet.after >= 0);
}

std::optional<wire::Psn> ResendSet::front() const {
    auto& scan = const_cast<ResendSet*>(this)->scan_;
    for (; highest_ - scan > 0; scan = scan + 1) {
        if (missing(scan)) return scan;
    }
    return std::nullopt;
}

void ResendSet::pop(wire::Psn next) {
    auto& packet = at(scan_);
    packet.resent = true;
    packet.after = next;
    scan_ = scan_ + 1;
}

ResendSet* ResendPool::borrow() {
    if (free_.empty()) {
        if (all_.size() == limit_) return nullptr;
        all_.push_back(std::make_unique<ResendSet>());  // at the first losses of a shard, never again
        free_.reserve(all_.size());
        return all_.back().get();
    }
    auto* const set = free_.back();
    free_.pop_back();
    return set;
}

}  // namespace verbline::transport
