// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Assignment of lanes, MAC addresses, IP addresses, groups, ports and direct links to a hub's clients, with the
/// reasons for refusals.
///
/// Pure: no I/O, no clock. Owned by the control thread.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "control/hub/identity.h"
#include "control/hub/lane_id.h"
#include "control/hub/port_table.h"
#include "control/hub/protocol.h"
#include "pmd/base/counter.h"

namespace verbline::hub {

/// How much may be had.
struct Quotas {
    // By all programs of a user other than the hub's.
    std::size_t user_lanes = 64;
    std::size_t user_groups = 1024;
    std::size_t user_ports = 16384;
    std::size_t user_direct = 256;
    std::size_t user_targets = 1024;  ///< XRC targets of a node
    // By one lane.
    std::size_t lane_groups = 256;
    std::size_t lane_ports = 8192;  ///< in all port spaces; a space has 28,232 ephemeral ones
    bool operator==(const Quotas&) const = default;
};

struct RegistrySetup {
    std::string name;                       ///< of the hub, for error texts
    std::vector<InterfaceAddress> subnets;  ///< a client that names no address gets one of each; at most 8
    uid_t owner = 0;                        ///< the hub's user, who may have all lanes
    std::size_t max_lanes = 256;
    Quotas quotas{};
    std::size_t max_direct = 16;         ///< direct links of one lane at a time; 0: none on this hub
    std::vector<wire::Gid> routers{};    ///< lanes with one of these addresses have no direct links
    std::optional<NodeIdentity> node{};  ///< a node's registry, whose lanes are its members; none: a hub's
    /// The next member gets the number behind it. A random one: members of the node that ran here before want theirs
    /// back.
    std::uint16_t last_member = 0;
};

/// Credentials of a client, from the kernel (SO_PEERCRED).
struct Peer {
    pid_t pid = 0;
    uid_t uid = 0;
};

/// A link between two lanes without the hub in it.
struct DirectPair {
    LaneId asker{}, peer{};
    bool joins(LaneId lane) const { return lane == asker || lane == peer; }
};

#define VERBLINE_HUB_QUOTA_COUNTERS(X)                                                    \
    X(quota_lanes, "programs that were refused since all, or their user's, are too many") \
    X(quota_groups, "multicast groups beyond a program's or a user's quota")              \
    X(quota_ports, "port numbers beyond a program's or a user's quota")                   \
    X(quota_direct, "direct links beyond a program's or a user's quota")                  \
    X(quota_targets, "XRC targets beyond a user's quota")

struct QuotaCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_HUB_QUOTA_COUNTERS)
};

/// 10.99.0.0/16, and a unique local prefix (RFC 4193): private ranges that few networks around a hub will use.
std::vector<InterfaceAddress> default_subnets();

class Registry {
public:
    struct Tenant {
        std::string program;
        Peer peer;
        wire::MacAddress mac{};
        std::vector<InterfaceAddress> addresses;
        std::set<wire::MacAddress> groups;
        std::size_t ports = 0;      ///< how many uses of port numbers it has
        bool takes_direct = false;  ///< offers of direct links
    };
    template <class T>
    using Answer = std::expected<T, Refused>;

    explicit Registry(RegistrySetup setup);

    /// Grants everything requested, or nothing. A node's member asks for the number that it had by that number's MAC
    /// address (link/member.h). EADDRINUSE: another has what was requested.
    Answer<LaneId> join(const Join& join, Peer peer);
    /// Releases the lane and all that it holds. A node's member number is not assigned again before `free`: peers may
    /// still send to its queue pairs.
    void leave(LaneId lane);
    /// Whether a member has left, and its number is not free yet.
    bool retired(LaneId member) const { return retired_.contains(member); }
    void free(LaneId member) { retired_.erase(member); }
    /// From now on; what is had already stays.
    void set_quotas(const Quotas& quotas) { setup_.quotas = quotas; }
    /// The addresses of a node's port have changed.
    void set_addresses(const std::vector<InterfaceAddress>& addresses);
    /// Whose listener, or else whose bound id, a request for this port and destination suits best.
    std::optional<LaneId> holder(PortNumber port, const std::optional<rdmacm::SocketAddress>& destination) const {
        return ports_.holder(port, destination);
    }
    /// ENOSPC: too many groups. Repeating a request is no error.
    Answer<void> set_group(LaneId lane, const GroupMembership& group);
    /// Whether it is an address of the lane's: one of its own or of the node's port, or any.
    bool may_bind(LaneId lane, const PortUse& use) const;
    /// Returns the port. EADDRINUSE: taken, even if by the same lane, or no ephemeral port is free. ENOSPC: over the
    /// lane's quota.
    Answer<std::uint16_t> reserve(LaneId lane, const Reserve& wanted);
    /// ENOENT: the lane has no such use of it. EADDRINUSE: another is in the way; it stays as it was.
    Answer<void> rebind(LaneId lane, const Rebind& wanted);
    /// ENOENT: the lane has no such use of it.
    Answer<void> release(LaneId lane, const Release& port);

    /// Returns the link's id, or an errno value. EOPNOTSUPP: disabled on this hub, or one of the two takes no offers.
    /// ENOENT: no other lane has that address. EPERM: another user's lane, or a router's, whose frames must pass the
    /// hub. EALREADY: the two have a link. EDQUOT: one of them has too many.
    std::expected<DirectId, int> link_directly(LaneId asker, const Direct& wanted);
    /// Does nothing if the lane has no such link.
    void end_direct(LaneId lane, DirectId link);
    const std::map<DirectId, DirectPair>& direct_links() const { return direct_; }
    std::size_t direct_links(LaneId lane) const;

    /// Null: it is a hub's.
    /// A node's port has another MAC address.
    void set_mac(const wire::MacAddress& mac) { setup_.node->mac = mac; }
    const NodeIdentity* node() const { return setup_.node ? &*setup_.node : nullptr; }
    /// Whether the lane's user may open one more XRC target, having `open`. EDQUOT.
    Answer<void> may_open_target(LaneId lane, std::size_t open);
    const QuotaCounters& refusals() const { return refusals_; }
    const Tenant& tenant(LaneId lane) const { return tenants_.at(lane); }
    const std::map<LaneId, Tenant>& tenants() const { return tenants_; }

private:
    Answer<void> may_join(uid_t user) const;
    Answer<void> may_join_group(const Tenant& tenant) const;
    Answer<void> may_reserve(const Tenant& tenant) const;
    bool may_link(LaneId one) const;
    Answer<void> within_user_quota(uid_t user, std::size_t has, std::size_t most, std::string_view what,
                                   std::string_view option) const;
    template <class Count>
    std::size_t sum_of_user(uid_t user, Count count) const;
    Answer<LaneId> join_hub(Tenant tenant);
    Answer<LaneId> join_node(Tenant tenant);
    bool taken(link::MemberId member) const;
    Answer<LaneId> admit(link::MemberId member, Tenant tenant);
    std::string who() const;  ///< in error texts
    std::string_view kind() const { return setup_.node ? "node" : "hub"; }
    Answer<std::vector<InterfaceAddress>> choose_addresses() const;
    wire::MacAddress choose_mac(const InterfaceAddress& address) const;
    std::optional<LaneId> holder(const wire::Gid& address) const;
    std::optional<std::uint16_t> choose_port(std::uint16_t space);
    std::string describe(LaneId lane) const;
    Refused in_use(std::uint16_t port, LaneId holder, LaneId lane) const;
    Refused not_held(std::uint16_t port) const;
    bool routes(const Tenant& tenant) const;

    RegistrySetup setup_;
    std::map<LaneId, Tenant> tenants_;
    std::map<wire::Gid, LaneId> addresses_;
    std::map<wire::MacAddress, LaneId> macs_;
    PortTable ports_;
    std::uint16_t next_ephemeral_ = first_ephemeral_port;
    std::set<LaneId> retired_;  ///< of a node
    std::map<DirectId, DirectPair> direct_;
    std::uint32_t last_direct_ = 0;
    QuotaCounters refusals_;
};

}  // namespace verbline::hub
