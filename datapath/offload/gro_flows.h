// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The flows of one burst whose packets are being merged: what coalescing of TCP segments (gro.h) and of UDP datagrams
/// (udp_gro.h) have in common. `Flow` says what continues it and how:
///
///     is, begin, continued_by, verify, append, close
///
/// When there are more than fit, one makes room: its packets are merged a little less. Within a flow the order never
/// changes.

#include <algorithm>
#include <array>
#include <cstdint>

#include "datapath/offload/gro_segment.h"

namespace verbline::offload {

constexpr std::uint32_t max_packet = 0xffff;  ///< IPv4's total length; IPv6's could be a header longer

template <class Flow>
class Flows {
public:
    /// True if the packet, which was classified as `segment`, is now part of another.
    bool take(rte_mbuf& packet, const Segment& segment) {
        if (segment.role == Role::unrelated) return false;
        if (segment.role == Role::unclear) {
            close_all();
            return false;
        }
        auto* const flow = find(segment);
        bool verified = false;
        if (flow != nullptr) {
            if (segment.role == Role::mergeable && flow->continued_by(packet, segment) && flow->verify()) {
                verified = intact(packet, segment.ip_at);
                if (verified) {
                    flow->append(packet, segment);
                    return true;
                }
            }
            flow->close();
        }
        const bool can_grow = segment.role == Role::mergeable && !segment.push;
        if (can_grow) room(flow).begin(packet, segment, verified);
        return false;
    }

    void close_all() {
        for (auto& flow : flows_) flow.close();
    }

private:
    Flow* find(const Segment& segment) {
        const auto flow = std::ranges::find_if(flows_, [&](const Flow& f) { return f.is(segment); });
        return flow != flows_.end() ? &*flow : nullptr;
    }
    Flow& room(Flow* closed) {
        if (closed != nullptr) return *closed;
        auto& flow = flows_[next_++ % flows_.size()];
        flow.close();
        return flow;
    }

    std::array<Flow, 8> flows_;
    unsigned next_ = 0;
};

}  // namespace verbline::offload
