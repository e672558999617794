// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// An IPoIB port of a router (RFC 4391): control/ipoib/subnet_port.h, which knows its identity and its groups, with the
/// neighbours and shards of a router's port. Several ports, each of another partition, may have one agent: they are the
/// partitions of one InfiniBand port. In connected mode neighbours that support it are reached by connections
/// (control/ipoib/connector.h); address resolution and groups go by datagrams.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "control/ipoib/connector.h"
#include "control/ipoib/subnet_port.h"
#include "control/router/port.h"
#include "control/sa/agent.h"
#include "datapath/ipoib/interface.h"

namespace verbline::router {

class IpoibPort final : public ControlPort {
public:
    struct Link {
        wire::PKey pkey{0xffff};  ///< names the partition; the membership is the P_Key table's, unless that has both
        wire::Qpn qpn{};
        std::uint32_t mtu = 2044;                   ///< of IP packets; the broadcast group must allow it
        ipoib::Connections* connections = nullptr;  ///< of connected mode; they outlive the port
        bool shows_agent = true;  ///< of the ports that share the agent, the one whose counters are with the agent's
    };

    IpoibPort(control::Loop& loop, ShardLinks& shards, const Setup& setup, const Link& link, sa::Agent& agent);

    /// One line: why the port is down, or may go down soon; empty if there is no problem.
    const std::string& trouble() const { return subnet_.trouble(); }
    /// Called with `trouble` when it changes to a new problem.
    void on_trouble(std::function<void(const std::string&)> handler) { on_trouble_ = std::move(handler); }

    const Link& link() const { return link_; }
    const ipoib::Identity& identity() const { return subnet_.identity(); }
    /// Whether a P_Key, of a path or a group for example, is of the port's partition.
    bool in_partition(wire::PKey pkey) const { return subnet_.in_partition(pkey); }
    sa::Agent& agent() { return agent_; }
    /// Null: not in connected mode.
    const ipoib::Connector* connector() const { return connector_.get(); }
    /// The group of an MGID that the port has joined, by its IP address, that of IPv4 mapped; none: not one of IP.
    std::optional<wire::Gid> group_of(const wire::Gid& mgid) const { return subnet_.group_of(mgid); }
    void look_for_group(const wire::Gid& group) override { subnet_.memberships().look_for(group); }
    bool group_exists(const wire::Gid& group) const { return subnet_.memberships().exists(group); }
    /// Called when the result of `group_exists` may have changed, for any group.
    void on_groups_changed(std::function<void()> handler) { groups_changed_ = std::move(handler); }

    void retire() override;
    void counters(const CounterVisitor& visit) const override;

private:
    void carrier_changed() override;
    void locate(const neighbour::LinkAddress& hardware, wire::EtherType type, Located located) override;
    void reach(const neighbour::LinkAddress& hardware, wire::EtherType type, Located located) override;
    std::optional<link::Destination> broadcast(wire::EtherType type) const override { return subnet_.broadcast(type); }
    void listen(const std::vector<wire::Gid>& groups) override { subnet_.listen(groups); }
    void send_to_group(const wire::Gid& group, std::vector<std::byte> packet) override;
    void hear_group(const wire::Gid& group, bool wanted) override { subnet_.memberships().hear(group, wanted); }
    void resolve_group(const wire::Gid& group, bool routed) override;
    void forget_group(const wire::Gid& group) override { subnet_.memberships().send(group, false); }
    bool resolves_groups() const override { return true; }

    ipoib::SubnetPort::Setup subnet_setup();
    ipoib::Connector::Setup connector_setup();
    wire::IpoibAddress address() const;

    Link link_;
    sa::Agent& agent_;
    std::function<void(const std::string&)> on_trouble_ = [](const std::string&) {};
    std::function<void()> groups_changed_ = [] {};
    std::unique_ptr<ipoib::Connector> connector_;  ///< null: not in connected mode
    ipoib::SubnetPort subnet_;
};

}  // namespace verbline::router
