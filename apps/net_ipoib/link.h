// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What the port is on: an InfiniBand subnet with its manager (subnet_link.h), or an Ethernet link with RoCE v2
/// (roce_link.h). Owned by the control thread, which makes every call.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "datapath/ipoib/interface.h"

namespace verbline::net_ipoib {

/// The way to a host: a destination for each family, and by what its packets are known.
struct Way {
    link::Destination ipv4, ipv6;
    ipoib::Origin sender;
};

class Link {
public:
    struct Setup {
        wire::PKey pkey{0xffff};
        wire::Qpn qpn{};  ///< where the device has no queue pair of its own
        pmd::NetDevice* device = nullptr;
        /// The port has this identity, none: it is down. Its groups are detached, and are attached again below.
        std::function<void(const std::optional<ipoib::Identity>&)> identify;
        std::function<void(const pmd::MulticastAddress&)> attach, detach;
        /// It is up, after `identify` and `attach` of the broadcast group; again when anything of these has changed.
        std::function<void()> up;
        std::function<void()> down;           ///< before `identify`
        std::function<void()> paths_changed;  ///< find hosts again
        /// Where packets to a group go, by its IP address, that of IPv4 mapped; nowhere.
        std::function<void(const wire::Gid& group, const link::Destination& to)> located;
        std::function<void(const wire::Gid& group)> unreachable;
        std::function<void()> groups_changed;  ///< the result of `exists`
        std::function<void(wire::Bytes packet, const link::Destination& to)> send;
        std::function<void(const std::string&)> log;
    };

    Link() = default;
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;
    virtual ~Link() = default;

    /// Begins: the functions of Setup are called from here on, as soon as from within this call.
    virtual void start() {}
    /// The device's link came up, or went down.
    virtual void carrier_changed(bool carrier) = 0;
    virtual bool up() const = 0;
    /// Valid once it was up, like all below.
    virtual wire::IpoibAddress address() const = 0;
    virtual std::optional<link::Destination> broadcast(wire::EtherType type) const = 0;

    /// Calls `found`, now or later; never, if there is no way.
    virtual void find(const wire::IpoibAddress& host, std::function<void(const Way&)> found) = 0;
    /// Likewise for packets of one EtherType.
    virtual void locate(const wire::IpoibAddress& host, wire::EtherType type,
                        std::function<void(const link::Destination&)> located) = 0;

    /// Sends a packet of the control thread's to a group.
    virtual void send_to_group(const wire::Gid& group, std::vector<std::byte> packet) = 0;
    /// Has the group located, or found to be unreachable.
    virtual void resolve(const wire::Gid& group) = 0;
    /// Whether the group's packets are to be received.
    virtual void hear(const wire::Gid& group, bool wanted) = 0;
    /// Whether somebody has made the group, as far as was looked for; all that others have made.
    virtual void look_for(const wire::Gid& group) = 0;
    virtual bool exists(const wire::Gid& group) const = 0;
    virtual std::vector<wire::Gid> others() const = 0;

    virtual void counters(const CounterVisitor& visit) const = 0;
};

}  // namespace verbline::net_ipoib
