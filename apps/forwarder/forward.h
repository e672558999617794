// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The datapath's API in one file: a device opened by its text, a link on it, bursts from one link to the other.

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <thread>
#include <tuple>

#include "apps/environment/must.h"
#include "apps/forwarder/frame_link.h"
#include "datapath/router/backoff.h"
#include "pmd/base/clock.h"
#include "pmd/factory/open_device.h"

namespace verbline::forwarder {

/// A device, brought up, and a link that polls its only queue. `pool` must outlive it, as packets held elsewhere do.
struct ForwarderPort {
    ForwarderPort(const pmd::DeviceSpec& spec, rte_mempool& pool)
        : device(must(pmd::open_device(spec, {.pool = &pool, .persistent = false}))), link(*device, 0, pool) {
        must(device->up());
    }

    const std::unique_ptr<pmd::NetDevice> device;
    FrameLink link;
};

/// Forwards one burst from `from` to `to`. Returns false if there was nothing to do.
inline bool forward(FrameLink& from, FrameLink& to) {
    to.flush();                                                          // what the device did not take last time
    if (to.congested() && from.capabilities().lossless_rx) return true;  // backpressure: nothing is lost
    link::Reception burst;
    from.receive(burst);
    std::array<link::Destination, pmd::max_burst> destinations;
    std::array<const link::Destination*, pmd::max_burst> each;
    for (std::size_t i = 0; i < burst.ip_count; ++i) {
        destinations[i] = FrameLink::destination_of(*burst.ip[i]);
        each[i] = &destinations[i];
    }
    to.transmit(pmd::Burst(burst.ip).first(burst.ip_count), link::Destinations(each).first(burst.ip_count));
    to.flush();
    return !burst.idle;
}

/// Forwards both ways on the calling thread until `stop()` is true. Links connect and reconnect inside `link_up`.
template <class Stop>
void carry(ForwarderPort& left, ForwarderPort& right, Stop stop) {
    router::Backoff backoff({});
    for (Time next = 0; !stop();) {
        const auto now = monotonic_now();
        if (now >= next) {
            std::ignore = left.device->link_up(), std::ignore = right.device->link_up();
            next = now + millisecond;
        }
        const bool rightwards = forward(left.link, right.link), leftwards = forward(right.link, left.link);
        if (rightwards || leftwards) {
            backoff.busy();
        } else if (backoff.idle(now) == router::Idle::sleep) {
            std::this_thread::sleep_for(std::chrono::nanoseconds(backoff.sleep_time()));
        }
    }
}

}  // namespace verbline::forwarder
