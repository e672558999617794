// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The multicast groups that queue pairs of this process are in, as the link has to know them: by Ethernet address,
/// each once, however many queue pairs and MGIDs share it. A hub sends a group's frames only to those who have joined
/// it, a network interface lets in only what it was told to, and routers and switches of an Ethernet pass on what IGMP
/// and MLD ask for: in our name, or in the kernel's where the interface is its own.
///
/// Threads: any.

#include <map>
#include <mutex>

#include "apps/libibverbs/port/link.h"

namespace verbline::verbs {

class LinkGroups {
public:
    /// `hub_mutex`: of the conversation with the hub, which others lead, too.
    LinkGroups(OpenedLink& link, std::mutex& hub_mutex) : link_(link), mutex_(hub_mutex) {}
    LinkGroups(const LinkGroups&) = delete;
    LinkGroups& operator=(const LinkGroups&) = delete;

    /// On the soft fabric `mlid` names the group to the link, elsewhere the MGID does. Blocks until a hub has answered.
    /// An error, or std::bad_alloc: not joined.
    Result<void> join(const wire::Gid& mgid, wire::Lid mlid);
    /// Once for each `join`.
    void leave(const wire::Gid& mgid, wire::Lid mlid);

private:
    struct Told {
        unsigned users = 0;
        FileDescriptor kernel{};  ///< its membership, where the interface is the kernel's
    };

    wire::MacAddress mac_of(const wire::Gid& mgid, wire::Lid mlid) const;
    pmd::MulticastAddress address_of(const wire::Gid& mgid, wire::Lid mlid) const;
    Result<void> let_in(const pmd::MulticastAddress& group);
    void let_go(const pmd::MulticastAddress& group);
    void tell(const wire::Gid& mgid);
    void tell_no_longer(const wire::Gid& mgid);

    OpenedLink& link_;
    std::mutex& mutex_;
    std::map<wire::MacAddress, unsigned> joined_;
    std::map<wire::Gid, Told> told_;  ///< Ethernet: groups that routers and switches know us to be in
};

/// As Linux maps groups, in every version of RoCE: an IPv4 address in a GID as RFC 1112 says, others as RFC 2464.
wire::MacAddress ethernet_address_of_group(const wire::Gid& mgid);

}  // namespace verbline::verbs
