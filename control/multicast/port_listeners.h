// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The listeners of one port: those on its link, and the kernel behind its interface, each in both families. Drives
/// four Listeners with the loop's timers.
///
/// The kernel is asked as a link's hosts are: it knows what it listens to, and reports only changes by itself.
///
/// Owned by the control thread; must not outlive the loop.

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "control/loop/loop.h"
#include "control/multicast/group_routes.h"
#include "control/multicast/listeners.h"
#include "datapath/neighbour/membership_message.h"
#include "datapath/wire/bytes.h"

namespace verbline::multicast {

class PortListeners {
public:
    struct Setup {
        bool routes = false;  ///< between links, at first: the link's hosts are asked, not only the kernel
        /// Sends a query: to its group on the link, or to the kernel.
        std::function<void(Side to, const wire::Gid& group, const neighbour::GroupPacket& packet)> send;
        std::function<void(const wire::Gid& group, Side side, bool listening)> changed;
    };

    PortListeners(control::Loop& loop, Setup setup);
    PortListeners(const PortListeners&) = delete;
    PortListeners& operator=(const PortListeners&) = delete;

    /// Own addresses on the link; zero: none. The first call starts the queries to the kernel.
    void set_addresses(wire::Ipv4Address ipv4, const wire::Ipv6Address& link_local);
    /// A link that is down has no listeners.
    void set_up(bool up);
    /// Replaces Setup::routes. Where nothing is routed, the link has no listeners either.
    void set_routes(bool routes);
    /// An IGMP or MLD packet, from the link or from our kernel.
    void received(Side from, wire::Bytes ip_packet);

    struct Shown : Listeners::Shown {
        Side side{};
    };
    std::vector<Shown> show() const;
    void counters(const CounterVisitor& visit) const { counters_.each(visit); }

private:
    /// One of the four.
    struct Party {
        Side side;
        bool ipv4;
        Listeners listeners;
    };

    void address(Party& party);
    void address_all();
    void play(Side side, const ListenerActions& actions);
    void schedule();

    control::Loop& loop_;
    const Setup setup_;
    ListenersCounters counters_;
    std::array<Party, 4> parties_;
    wire::Ipv4Address ipv4_{};
    wire::Ipv6Address link_local_{};
    bool routes_;
    bool up_ = false;
    bool addressed_ = false;  ///< before, the kernel's interface is not up
    control::Timer timer_;
};

}  // namespace verbline::multicast
