// SPDX-License-Identifier: BSD-3-Clause
#include "control/gateway/multicast_tables.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "control/ipoib/groups.h"
#include "datapath/link/interface_address.h"
#include "datapath/link/ip_gid.h"
#include "datapath/wire/text.h"

namespace verbline::gateway {
namespace {

using multicast::Side;
using neighbour::MembershipVersion;
using telemetry::Json;

std::string join_states(sa::JoinStates states) {
    std::string names;
    const auto add = [&](sa::JoinStates bit, std::string_view name) {
        if ((states & bit) != 0) names.append(names.empty() ? "" : " ").append(name);
    };
    add(wire::join_state::full_member, "full");
    add(wire::join_state::non_member, "non");
    add(wire::join_state::send_only_non_member, "send-only");
    add(wire::join_state::send_only_full_member, "send-only-full");
    return names;
}

/// Who listens to one group on one port.
struct Listening {
    bool link = false, kernel = false, fabric = false;
    MembershipVersion version = MembershipVersion::v3;
    Time expires_in = 0;

    std::string who() const {
        std::string names;
        for (const auto& [is, name] : {std::pair(link, "link"), {kernel, "kernel"}, {fabric, "fabric"}})
            if (is) names.append(names.empty() ? "" : " ").append(name);
        return names;
    }
};

using ByGroup = std::map<wire::Gid, Listening>;

ByGroup listening_on(const View& gateway, const GatewayPort& port) {
    ByGroup groups;
    for (const auto& shown : port.port().listeners().show()) {
        auto& group = groups[shown.group];
        (shown.side == Side::kernel ? group.kernel : group.link) = true;
        group.version = std::min(group.version, shown.version);
        group.expires_in = std::max(group.expires_in, shown.expires_in);
    }
    for (const auto& group : gateway.multicast.routes().groups())
        if (gateway.multicast.routes().listens(group, port.id(), Side::fabric)) groups[group].fabric = true;
    return groups;
}

std::string version_text(const wire::Gid& group, MembershipVersion version) {
    const auto number = static_cast<unsigned>(version);
    return link::ipv4_of(group) ? fmt::format("IGMPv{}", number) : fmt::format("MLDv{}", std::max(number, 2u) - 1);
}

/// `group`: null if nobody listens: it is one of the port's own, or only sent to.
Json row_of(const GatewayPort& port, const ByGroup::value_type* group) {
    const bool reported = group != nullptr && (group->second.link || group->second.kernel);
    const auto expires =
        reported ? fmt::format("{:.1f}", static_cast<double>(group->second.expires_in) / second) : std::string();
    return {{"port", port.name()},
            {"group", group != nullptr ? link::address_text(group->first) : ""},
            {"listeners", group != nullptr ? group->second.who() : ""},
            {"version", reported ? version_text(group->first, group->second.version) : ""},
            {"expires_s", expires},
            {"mgid", ""},
            {"mlid", ""},
            {"users", 0},
            {"wanted", ""},
            {"joined", ""},
            {"qkey", ""},
            {"mtu", 0},
            {"rate_gbps", 0},
            {"sl", 0}};
}

void add_membership(Json& row, const sa::Groups::Shown& shown, const std::optional<wire::Gid>& group) {
    if (group) row["group"] = link::address_text(*group);
    row["mgid"] = to_string(shown.mgid);
    row["mlid"] = to_string(shown.group.mlid);
    row["users"] = shown.users;
    row["wanted"] = join_states(shown.wanted);
    row["joined"] = join_states(shown.held);
    row["qkey"] = fmt::format("{:#x}", static_cast<std::uint64_t>(shown.group.qkey));
    row["mtu"] = wire::mtu_bytes(shown.group.mtu);
    row["rate_gbps"] = wire::rate_gbps(shown.group.rate);
    row["sl"] = shown.group.service_level;
}

void add_port(const View& gateway, const GatewayPort& port, Json& rows) {
    auto groups = listening_on(gateway, port);
    if (port.ipoib() != nullptr) {
        for (const auto& shown : port.ipoib()->agent().groups().show()) {
            if (!port.ipoib()->in_partition(shown.pkey)) continue;  // another port's of the same agent
            const auto same = std::ranges::find_if(groups, [&](const auto& group) {
                return ipoib::mgid_of(group.first, port.config().pkey) == shown.mgid;
            });
            rows.push_back(row_of(port, same != groups.end() ? &*same : nullptr));
            add_membership(rows.back(), shown, same != groups.end() ? same->first : port.ipoib()->group_of(shown.mgid));
            if (same != groups.end()) groups.erase(same);
        }
    }
    for (const auto& group : groups) rows.push_back(row_of(port, &group));
}

}  // namespace

Json multicast(const View& gateway) {
    auto rows = Json::array();
    for (const auto& port : gateway.ports) add_port(gateway, *port, rows);
    return rows;
}

}  // namespace verbline::gateway
