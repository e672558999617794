// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// An Ethernet link with RoCE v2: addresses follow from MAC addresses (control/ipoib/roce_port.h), and one group
/// carries every multicast packet, so that there is none to join.

#include <set>

#include "apps/net_ipoib/link.h"
#include "control/ipoib/roce_port.h"

namespace verbline::net_ipoib {

class RoceLink final : public Link {
public:
    RoceLink(const Setup& setup, wire::MacAddress mac);

    void carrier_changed(bool carrier) override { port_.carrier_changed(carrier); }
    bool up() const override { return port_.up(); }
    wire::IpoibAddress address() const override { return port_.address(); }
    std::optional<link::Destination> broadcast(wire::EtherType type) const override { return port_.broadcast(type); }

    void find(const wire::IpoibAddress& host, std::function<void(const Way&)> found) override;
    void locate(const wire::IpoibAddress& host, wire::EtherType type,
                std::function<void(const link::Destination&)> located) override;

    void send_to_group(const wire::Gid& group, std::vector<std::byte> packet) override;
    void resolve(const wire::Gid& group) override;
    void hear(const wire::Gid&, bool) override {}
    void look_for(const wire::Gid&) override {}
    bool exists(const wire::Gid&) const override { return false; }
    std::vector<wire::Gid> others() const override { return {}; }

    void counters(const CounterVisitor& visit) const override { port_.counters(visit); }

private:
    void came_up();

    const Setup setup_;
    std::set<wire::Gid> located_;  ///< groups, for when the port has other addresses
    ipoib::RocePort port_;
};

}  // namespace verbline::net_ipoib
