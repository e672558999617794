// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The multicast groups that queue pairs of this process are in, as the link has to know them: by Ethernet address,
/// each once, however many queue pairs and MGIDs share it. A hub sends a group's frames only to those who have joined
/// it, and a network interface lets in only what it was told to.
///
/// Threads: any.

#include <map>
#include <mutex>

#include "apps/verbs/port/link.h"

namespace verbline::verbs {

class LinkGroups {
public:
    explicit LinkGroups(OpenedLink& link) : link_(link) {}
    LinkGroups(const LinkGroups&) = delete;
    LinkGroups& operator=(const LinkGroups&) = delete;

    /// On the soft fabric `mlid` names the group to the link, elsewhere the MGID does. Blocks until a hub has answered.
    Result<void> join(const wire::Gid& mgid, wire::Lid mlid);
    /// Once for each `join`.
    void leave(const wire::Gid& mgid, wire::Lid mlid);

private:
    wire::MacAddress mac_of(const wire::Gid& mgid, wire::Lid mlid) const;

    OpenedLink& link_;
    std::mutex mutex_;  ///< also of the conversation with the hub
    std::map<wire::MacAddress, unsigned> joined_;
};

/// As Linux maps groups, in every version of RoCE: an IPv4 address in a GID as RFC 1112 says, others as RFC 2464.
wire::MacAddress ethernet_address_of_group(const wire::Gid& mgid);

}  // namespace verbline::verbs
