// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// An IPoIB port (RFC 4391): up once the subnet manager has assigned a LID and the broadcast group has been joined.
///
///     LID, P_Key table ──┐        a P_Key of the partition, as the table has it: full or limited
///     broadcast group ───┴──> identity ──> shard, device, ARP      (again whenever any of it changes)
///     neighbour's GID ──> path ──> LID and SL ──> Destination      (again whenever the path changes)
///     IP addresses ─────> their groups, joined like the broadcast group (control/ipoib/groups.h)
///     listeners ────────> groups of packets from and to other links (control/ipoib/group_memberships.h)
///
/// During an outage of the subnet manager all known state stays in use. Without a P_Key of its partition the port is
/// down until the subnet manager assigns one again. Several ports, each of another partition, may have one agent: they
/// are the partitions of one InfiniBand port.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "control/ipoib/group_memberships.h"
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
        wire::PKey pkey{0xffff};  ///< names the partition; the membership is the P_Key table's, unless that has both
        wire::Qpn qpn{};
        std::uint32_t mtu = 2044;  ///< of IP packets; the broadcast group must allow it
        bool shows_agent = true;   ///< of the ports that share the agent, the one whose counters are with the agent's
    };

    IpoibPort(control::Loop& loop, ShardLinks& shards, const Setup& setup, const Link& link, sa::Agent& agent);
    ~IpoibPort() override;

    /// One line: why the port is down, or may go down soon; empty if there is no problem.
    const std::string& trouble() const { return trouble_; }
    /// Called with `trouble` when it changes to a new problem.
    void on_trouble(std::function<void(const std::string&)> handler) { on_trouble_ = std::move(handler); }

    const Link& link() const { return link_; }
    const ipoib::Identity& identity() const { return identity_; }
    /// Whether a P_Key, of a path or a group for example, is of the port's partition.
    bool in_partition(wire::PKey pkey) const { return partition(pkey) == partition(link_.pkey); }
    sa::Agent& agent() { return agent_; }
    /// The group of an MGID that the port has joined, by its IP address, that of IPv4 mapped; none: not one of IP.
    std::optional<wire::Gid> group_of(const wire::Gid& mgid) const;
    void look_for_group(const wire::Gid& group) override;
    bool group_exists(const wire::Gid& group) const { return memberships_.exists(group); }
    /// Called when the result of `group_exists` may have changed, for any group.
    void on_groups_changed(std::function<void()> handler) { groups_changed_ = std::move(handler); }

    void counters(const CounterVisitor& visit) const override;

private:
    void carrier_changed() override;
    void locate(const neighbour::LinkAddress& hardware, wire::EtherType type, Located located) override;
    std::optional<link::Destination> broadcast(wire::EtherType type) const override;
    void listen(const std::vector<wire::Gid>& groups) override;
    void send_to_group(const wire::Gid& group, std::vector<std::byte> packet) override;
    void hear_group(const wire::Gid& group, bool wanted) override { memberships_.hear(group, wanted); }
    void resolve_group(const wire::Gid& group, bool routed) override;
    void forget_group(const wire::Gid& group) override { memberships_.send(group, false); }
    bool resolves_groups() const override { return true; }

    ipoib::GroupMemberships::Setup memberships_setup();
    link::Destination group_destination(const wire::AddressHandle& to, wire::EtherType type) const;
    void port_event(mad::PortEvent event);
    void join_broadcast_group();
    std::optional<wire::PKey> own_pkey() const;
    void broadcast_group(const std::expected<sa::Group, sa::SaStatus>& answer);
    /// Compares our current identity with the announced one, and announces changes.
    void reconcile();
    void go_down(std::string trouble);
    /// Joins the groups that the port receives for itself.
    void join_groups();
    void attach(const wire::Gid& mgid, wire::Lid mlid);
    void detach(const wire::Gid& mgid);
    void set_trouble(std::string trouble);

    Link link_;
    sa::Agent& agent_;
    wire::Gid mgid_;
    bool refused_ = false;  ///< by the broadcast group
    std::optional<sa::Group> group_;
    ipoib::Identity identity_;
    wire::Lid attached_{};                            ///< MLID configured in the shard and the device
    ipoib::IpoibGroups groups_;                       ///< of the control thread's packets
    ipoib::GroupMemberships memberships_;             ///< of all others
    std::vector<wire::Gid> heard_;                    ///< groups of the former, by their IP addresses
    std::map<wire::Gid, wire::Lid> groups_attached_;  ///< MLID configured likewise, by MGID
    std::string trouble_;
    std::function<void(const std::string&)> on_trouble_ = [](const std::string&) {};
    std::function<void()> groups_changed_ = [] {};
    IpoibPortCounters ipoib_counters_;
    sa::Observation port_events_, path_changes_;
};

}  // namespace verbline::router
