// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The multicast groups that queue pairs of this process have joined, as the link sees them: by Ethernet address,
/// counted, since several queue pairs and MGIDs may share one. A hub forwards a group's frames to its members only, a
/// network interface filters by address, and routers and switches of an Ethernet follow IGMP and MLD: reported by us,
/// or by the kernel where the interface is its own.
///
/// Threads: any.

#include <map>
#include <mutex>

#include "apps/libibverbs/link/link.h"

namespace verbline::verbs {

class LinkGroups {
public:
    /// `hub_mutex` serialises requests to the hub, which other parts of the port make, too.
    LinkGroups(OpenedLink& link, std::mutex& hub_mutex) : link_(link), mutex_(hub_mutex) {}
    LinkGroups(const LinkGroups&) = delete;
    LinkGroups& operator=(const LinkGroups&) = delete;

    /// On the soft fabric the link knows the group by `mlid`, elsewhere by the MGID. Blocks until a hub has answered.
    /// On an error or std::bad_alloc the group is not joined.
    Result<void> join(const wire::Gid& mgid, wire::Lid mlid);
    /// Undoes one `join`.
    void leave(const wire::Gid& mgid, wire::Lid mlid);
    /// Joins all groups again at a hub that knows of none. Requires the hub's mutex.
    Result<void> restore() const;

private:
    struct Membership {
        pmd::MulticastAddress group{};
        unsigned users = 0;
    };
    struct Report {
        unsigned users = 0;
        FileDescriptor kernel{};  ///< its membership, where the interface is the kernel's
    };

    wire::MacAddress mac_of(const wire::Gid& mgid, wire::Lid mlid) const;
    pmd::MulticastAddress address_of(const wire::Gid& mgid, wire::Lid mlid) const;
    Result<void> let_in(const pmd::MulticastAddress& group);
    void let_go(const pmd::MulticastAddress& group);
    void notify(const wire::Gid& mgid);
    void withdraw(const wire::Gid& mgid);

    OpenedLink& link_;
    std::mutex& mutex_;
    std::map<wire::MacAddress, Membership> joined_;
    std::map<wire::Gid, Report> announced_;  ///< Ethernet: groups reported by IGMP or MLD
};

/// Multicast MAC address of a group as Linux maps it, for every version of RoCE: by RFC 1112 for an IPv4 address in a
/// GID, otherwise by RFC 2464.
wire::MacAddress ethernet_address_of_group(const wire::Gid& mgid);

}  // namespace verbline::verbs
