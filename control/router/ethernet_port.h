// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// An Ethernet port: neighbours are reached by their MAC address, without path resolution.

#include <set>

#include "control/router/port.h"

namespace verbline::router {

class EthernetPort final : public ControlPort {
public:
    /// `mac`: our MAC address.
    EthernetPort(control::Loop& loop, ShardLinks& shards, const Setup& setup, wire::MacAddress mac);

    wire::MacAddress mac() const { return mac_; }
    void set_multicast(bool routed) override;

private:
    void carrier_changed() override;
    void listen(const std::vector<wire::Gid>& groups) override;
    void locate(const neighbour::LinkAddress& hardware, wire::EtherType type, Located located) override;
    std::optional<link::Destination> broadcast(wire::EtherType type) const override;
    void hear_group(const wire::Gid& group, bool wanted) override;
    std::optional<link::Destination> multicast(const wire::Gid& group) const override;
    void attach();

    wire::MacAddress mac_;
    bool queries_;                         ///< as multicast querier, which hears reports to groups of any address
    std::vector<wire::Gid> listened_;      ///< the port's own groups
    std::set<wire::Gid> heard_;            ///< others
    std::set<wire::MacAddress> attached_;  ///< of both
};

/// A locally administered MAC address for a device without one, derived from the names so that neighbours need not
/// relearn it after a restart.
wire::MacAddress derived_mac(std::string_view instance, std::string_view port);

}  // namespace verbline::router
