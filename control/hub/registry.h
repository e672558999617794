// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Who on a hub has which lane, MAC address, IP addresses and groups; and who is refused, and why.
///
/// Pure: no I/O, no clock. Owned by the control thread.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <sys/types.h>

#include "control/hub/protocol.h"

namespace verbline::hub {

enum class LaneId : std::uint16_t {};

struct RegistrySetup {
    std::string name;                       ///< of the hub, for refusals
    std::vector<InterfaceAddress> subnets;  ///< a client that names no address gets one of each; at most 8
    std::size_t max_lanes = 256;
    std::size_t max_groups = 256;  ///< of one lane
};

/// 10.99.0.0/16, and a unique local prefix (RFC 4193): private ranges that few networks around a hub will use.
std::vector<InterfaceAddress> default_subnets();

class Registry {
public:
    struct Tenant {
        std::string program;
        pid_t pid = 0;
        wire::MacAddress mac{};
        std::vector<InterfaceAddress> addresses;
        std::set<wire::MacAddress> groups;
    };
    template <class T>
    using Answer = std::expected<T, Refused>;

    explicit Registry(RegistrySetup setup);

    /// Everything that was asked for, or nothing. `pid` is the kernel's word, not the client's.
    Answer<LaneId> join(const Join& join, pid_t pid);
    /// All that the lane had is free at once.
    void leave(LaneId lane);
    /// ENOSPC for one group too many. Asking twice is no error.
    Answer<void> set_group(LaneId lane, const Group& group);

    const Tenant& tenant(LaneId lane) const { return tenants_.at(lane); }
    const std::map<LaneId, Tenant>& tenants() const { return tenants_; }

private:
    Answer<std::vector<InterfaceAddress>> choose_addresses() const;
    wire::MacAddress choose_mac(const InterfaceAddress& address) const;
    std::optional<LaneId> holder(const wire::Gid& address) const;
    std::string describe(LaneId lane) const;

    RegistrySetup setup_;
    std::map<LaneId, Tenant> tenants_;
    std::map<wire::Gid, LaneId> addresses_;
    std::map<wire::MacAddress, LaneId> macs_;
};

}  // namespace verbline::hub
