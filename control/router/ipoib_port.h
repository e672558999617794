// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// An IPoIB port (RFC 4391): up once the subnet manager has assigned a LID and the broadcast group has been joined.
///
///     LID, P_Key table ──┐
///     broadcast group ───┴──> identity ──> shard, device, ARP      (again whenever any of it changes)
///     neighbour's GID ──> path ──> LID and SL ──> Destination      (again whenever the path changes)
///     IPv6 addresses ───> their groups, joined like the broadcast group (control/ipoib/groups.h)
///
/// During an outage of the subnet manager all known state stays in use.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "control/ipoib/groups.h"
#include "control/router/port.h"
#include "control/sa/agent.h"
#include "datapath/ipoib/interface.h"

namespace verbline::router {

#define VERBLINE_IPOIB_PORT_COUNTERS(X)                                               \
    X(paths_failed, "neighbours to whose GID the subnet administrator knows no path") \
    X(broadcast_joins, "times the broadcast group was joined")                        \
    X(broadcast_refused, "times the broadcast group was refused")

struct IpoibPortCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_IPOIB_PORT_COUNTERS)
};

class IpoibPort final : public ControlPort {
public:
    struct Link {
        wire::PKey pkey{0xffff};
        wire::Qpn qpn{};
        std::uint32_t mtu = 2044;  ///< of IP packets; the broadcast group must allow it
    };

    IpoibPort(control::Loop& loop, ShardLinks& shards, const Setup& setup, const Link& link, sa::Agent& agent);
    ~IpoibPort() override;

    /// One line: why the port is down, or may go down soon; empty if there is no problem.
    const std::string& trouble() const { return trouble_; }
    /// Called with `trouble` when it changes to a new problem.
    void on_trouble(std::function<void(const std::string&)> handler) { on_trouble_ = std::move(handler); }

    const Link& link() const { return link_; }
    const ipoib::Identity& identity() const { return identity_; }
    sa::Agent& agent() { return agent_; }

    void counters(const CounterVisitor& visit) const override;

private:
    void carrier_changed() override;
    void locate(const neighbour::LinkAddress& hardware, wire::EtherType type, Located located) override;
    std::optional<link::Destination> broadcast(wire::EtherType type) const override;
    void listen(const std::vector<wire::Gid>& groups) override;
    void send_to_group(const wire::Gid& group, std::vector<std::byte> packet) override;

    void port_event(mad::PortEvent event);
    void broadcast_group(const std::expected<sa::Group, sa::SaStatus>& answer);
    /// Compares our current identity with the announced one, and announces changes.
    void reconcile();
    void go_down();
    /// Takes part in the IPv6 groups that the port must hear.
    void join_ipv6_groups();
    void attach(const wire::Gid& mgid, wire::Lid mlid);
    void set_trouble(std::string trouble);

    Link link_;
    sa::Agent& agent_;
    wire::Gid mgid_;
    std::optional<sa::Group> group_;
    ipoib::Identity identity_;
    wire::Lid attached_{};  ///< MLID configured in the shard and the device
    ipoib::IpoibGroups ipv6_groups_;
    std::vector<wire::Gid> heard_;                  ///< IPv6 groups, by their IPv6 addresses
    std::map<wire::Gid, wire::Lid> ipv6_attached_;  ///< MLID configured likewise, by MGID
    std::string trouble_;
    std::function<void(const std::string&)> on_trouble_ = [](const std::string&) {};
    IpoibPortCounters ipoib_counters_;
};

}  // namespace verbline::router
