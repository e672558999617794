// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// An IPoIB interface on its subnet (RFC 4391): up once the subnet manager has assigned a LID and the broadcast group
/// has been joined. What the interface is for, a router's port (control/router/ipoib_port.h) or a program's, is its
/// user's.
///
///     LID, P_Key table ──┐        a P_Key of the partition, as the table has it: full or limited
///     broadcast group ───┴──> identity ──> device, user            (again whenever any of it changes)
///     neighbour's GID ──> path ──> LID and SL ──> Destination
///     groups of control packets ──> groups.h                      joined like the broadcast group
///     groups of other packets ────> group_memberships.h
///
/// During an outage of the subnet manager all known state stays in use. Without a P_Key of its partition the interface
/// is down until the subnet manager assigns one again. Several, each of another partition, may have one agent: they
/// are the partitions of one InfiniBand port.
///
/// Owned by the control thread; agent, loop and device outlive it.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "control/ipoib/group_memberships.h"
#include "control/ipoib/groups.h"
#include "control/loop/loop.h"
#include "control/sa/agent.h"
#include "datapath/ipoib/interface.h"

namespace verbline::ipoib {

#define VERBLINE_SUBNET_PORT_COUNTERS(X)                                              \
    X(paths_failed, "neighbours to whose GID the subnet administrator knows no path") \
    X(broadcast_joins, "times the broadcast group was joined")                        \
    X(broadcast_refused, "times the broadcast group was refused")

struct SubnetPortCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_SUBNET_PORT_COUNTERS)
};

class SubnetPort {
public:
    struct Setup {
        wire::PKey pkey{0xffff};  ///< names the partition; the membership is the P_Key table's, unless that has both
        wire::Qpn qpn{};          ///< where the device has no queue pair of its own
        pmd::NetDevice* device = nullptr;  ///< whose filters are set
        /// The interface has this identity, none: it is down. Its groups are detached, and are attached again below.
        std::function<void(const std::optional<Identity>&)> identify;
        std::function<void(const pmd::MulticastAddress&)> attach, detach;
        /// It is up, after `identify` and `attach` of the broadcast group; again when anything of these has changed.
        std::function<void()> up;
        /// It was up, and is not: called before `identify`.
        std::function<void()> down;
        /// Paths to neighbours may have changed: locate them again.
        std::function<void()> paths_changed;
        /// Where packets to a group of GroupMemberships go; nowhere.
        std::function<void(const wire::Gid& group, const link::Destination& to)> located;
        std::function<void(const wire::Gid& group)> unreachable;
        std::function<void()> groups_changed;  ///< the result of GroupMemberships::exists
        /// Sends a packet of `send_to_group`.
        std::function<void(wire::Bytes packet, const link::Destination& to)> send;
        std::function<void(const std::string&)> trouble;  ///< `trouble()` is another
    };

    SubnetPort(control::Loop& loop, sa::Agent& agent, Setup setup);
    ~SubnetPort();
    SubnetPort(const SubnetPort&) = delete;
    SubnetPort& operator=(const SubnetPort&) = delete;

    /// Begins: handlers are called from here on, as soon as from within this call.
    void start();

    /// The device may have another queue pair: call it when its carrier comes back.
    void device_returned() { reconcile(); }

    bool up() const { return up_; }
    /// Of the interface, last; valid once it was up.
    const Identity& identity() const { return identity_; }
    wire::IpoibAddress address() const { return {.qpn = identity_.qpn, .gid = identity_.port.gid}; }
    /// The broadcast group's record, once joined.
    const std::optional<sa::Group>& broadcast_group() const { return group_; }
    /// One line: why it is down, or may go down soon; empty if there is no problem.
    const std::string& trouble() const { return trouble_; }
    /// Whether a P_Key, of a path or a group for example, is of the partition.
    bool in_partition(wire::PKey pkey) const { return partition(pkey) == partition(setup_.pkey); }

    /// Resolves the path to a neighbour and calls `resolved`, now or later; never, if there is none.
    void resolve(const wire::IpoibAddress& neighbour, std::function<void(const wire::PathRecord&)> resolved);
    /// The destination of a neighbour by this path.
    link::Destination destination_by(const wire::PathRecord& path, wire::Qpn qpn, wire::EtherType type) const;
    /// Both.
    void locate(const wire::IpoibAddress& neighbour, wire::EtherType type,
                std::function<void(const link::Destination&)> located);
    /// The broadcast group; none, until it is joined.
    std::optional<link::Destination> broadcast(wire::EtherType type) const;
    /// Sets the groups that are heard for the control thread itself.
    void listen(const std::vector<wire::Gid>& groups);
    /// Sends a packet of the control thread's, which begins at its IP header, to a group.
    void send_to_group(const wire::Gid& group, std::vector<std::byte> packet) {
        groups_.send(group, std::move(packet));
    }
    GroupMemberships& memberships() { return memberships_; }
    const GroupMemberships& memberships() const { return memberships_; }
    /// The group of an MGID that the port has joined, by its IP address, that of IPv4 mapped; none: not one of IP.
    std::optional<wire::Gid> group_of(const wire::Gid& mgid) const;

    /// Without the agent's.
    void counters(const CounterVisitor& visit) const;

private:
    GroupMemberships::Setup memberships_setup();
    link::Destination group_destination(const wire::AddressHandle& to, wire::EtherType type) const;
    void port_event();
    void join_broadcast_group();
    std::optional<wire::PKey> own_pkey() const;
    void broadcast_group(const std::expected<sa::Group, sa::SaStatus>& answer);
    /// Compares our current identity with the announced one, and announces changes.
    void reconcile();
    void become(const Identity& now);
    void go_down(std::string trouble);
    /// Joins the groups that the control thread itself hears.
    void join_groups();
    void attach(const wire::Gid& mgid, wire::Lid mlid);
    void detach(const wire::Gid& mgid);
    void set_trouble(std::string trouble);

    sa::Agent& agent_;
    const Setup setup_;
    wire::Gid mgid_;
    bool up_ = false;
    bool refused_ = false;  ///< by the broadcast group
    std::optional<sa::Group> group_;
    Identity identity_;
    wire::Lid attached_{};          ///< MLID of the broadcast group, as the user and the device have it
    IpoibGroups groups_;            ///< of the control thread's packets
    GroupMemberships memberships_;  ///< of all others
    std::vector<wire::Gid> heard_;  ///< groups of the former, by their IP addresses
    std::map<wire::Gid, wire::Lid> groups_attached_;  ///< MLID likewise, by MGID
    std::string trouble_;
    SubnetPortCounters counters_;
    sa::Observation port_events_, path_changes_;
    std::shared_ptr<const bool> alive_ = std::make_shared<bool>(true);  ///< outlived only by pending path queries
};

}  // namespace verbline::ipoib
