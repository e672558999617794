// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/config/config_sharing.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "control/mad/open.h"
#include "datapath/wire/text.h"
#include "pmd/factory/device_spec.h"

namespace verbline::cli {
namespace {

/// Whether two ports are different VLANs of one device, or one of them has its untagged frames.
bool share_by_vlan(const PortConfig& a, const PortConfig& b) {
    return !a.has_subnet() && !b.has_subnet() && a.vlan != b.vlan;
}

/// Whether two ports are different partitions of one InfiniBand port, or of one link over RoCE.
bool share_by_partition(const PortConfig& a, const PortConfig& b) {
    return a.type == PortType::ipoib && b.type == PortType::ipoib && a.link == b.link && a.sm == b.sm &&
           a.vlan == b.vlan && a.devices == b.devices && wire::partition(a.pkey) != wire::partition(b.pkey);
}

/// Why the device of `port` is `other`'s already.
Fault taken(const PortConfig& port, const PortConfig& other, const std::string& device) {
    if (&port == &other || port.type != PortType::ipoib || other.type != PortType::ipoib || port.link != other.link ||
        port.vlan != other.vlan) {
        if (&port != &other && port.vlan)
            return {port.lines.vlan,
                    fmt::format("VLAN {} of device {} is {}'s already", *port.vlan, device, other.name)};
        return {port.lines.device, fmt::format("device {} is used twice", device)};
    }
    if (port.devices != other.devices)
        return {port.lines.device, fmt::format("partitions of one InfiniBand port have all of its devices: {} and {} "
                                               "share {}, and not the others",
                                               other.name, port.name, device)};
    if (port.sm != other.sm)
        return {port.lines.sm, fmt::format("sm {} of {}: {}, which has the same device, is reached by {}", port.sm,
                                           port.name, other.name, other.sm)};
    return {port.lines.pkey != 0 ? port.lines.pkey : port.lines.port,
            fmt::format("partition {} of device {} is {}'s already", wire::to_string(port.pkey), device, other.name)};
}

/// All that only one port may have, if one has a backup.
std::vector<std::string> places_of(const PortConfig& port) {
    auto places = port.devices;
    places.insert(places.end(), port.backup_devices.begin(), port.backup_devices.end());
    for (const auto& sm : {port.sm, port.backup_sm})
        if (!sm.empty()) places.push_back(sm);
    return places;
}

}  // namespace

Verdict check_devices(const std::vector<PortConfig>& ports) {
    std::vector<std::pair<std::string_view, const PortConfig*>> seen;
    for (const auto& port : ports)
        for (const auto& device : port.devices) {
            for (const auto& [name, other] : seen) {
                if (name != device) continue;
                if (other != &port && (share_by_vlan(*other, port) || share_by_partition(*other, port))) continue;
                return taken(port, *other, device);
            }
            seen.emplace_back(device, &port);
        }
    return {};
}

Verdict check_backups(const std::vector<PortConfig>& ports) {
    const auto shared = [](const PortConfig& port, std::string_view with) {
        return Fault{port.lines.backup_device,
                     fmt::format("backup_device of {}: a port with a backup shares no device and no sm, and {} has one "
                                 "of its",
                                 port.name, with)};
    };
    for (const auto& port : ports) {
        if (!port.has_backup()) continue;
        auto own = places_of(port);
        std::ranges::sort(own);
        if (std::ranges::adjacent_find(own) != own.end()) return shared(port, "it itself");
        const auto is_own = [&](const auto& place) { return std::ranges::binary_search(own, place); };
        for (const auto& other : ports)
            if (&other != &port && std::ranges::any_of(places_of(other), is_own)) return shared(port, other.name);
    }
    return {};
}

Verdict check_subnets(const PortConfig& earlier, const PortConfig& later) {
    if (!earlier.has_subnet() || !later.has_subnet() || earlier.sm != later.sm || earlier.devices == later.devices)
        return {};
    return Fault{later.lines.sm, fmt::format("sm {} is that of {}, which has another device: partitions of one "
                                             "InfiniBand port have all of its devices",
                                             later.sm, earlier.name)};
}

Verdict check_backup(const PortConfig& port) {
    if (!port.has_backup() && port.backup_sm.empty()) return {};
    const auto line = port.lines.backup_device != 0 ? port.lines.backup_device : port.lines.backup_sm;
    if (!port.has_backup() || port.backup_sm.empty())
        return Fault{line, fmt::format("{}: a backup has both backup_device and backup_sm", port.name)};
    if (!port.has_subnet())
        return Fault{line, fmt::format("backup_device of {}: a link over RoCE has no backup", port.name)};
    if (port.connected)
        return Fault{port.lines.mode,
                     fmt::format("mode of {}: connected mode has no backup; leave one out", port.name)};
    if (const auto sm = mad::parse_spec(port.backup_sm); !sm) return Fault{port.lines.backup_sm, sm.error().what};
    if (port.backup_sm == port.sm)
        return Fault{port.lines.backup_sm,
                     fmt::format("backup_sm of {} is its sm: a backup is another port", port.name)};
    if (port.backup_devices.size() > gateway::max_devices)
        return Fault{line, fmt::format("{} has more than {} backup devices", port.name, gateway::max_devices)};
    for (const auto* devices : {&port.devices, &port.backup_devices})
        for (const auto& device : *devices) {
            const auto spec = pmd::parse_device_spec(device);
            if (!spec) return Fault{line, spec.error().what};
            if (std::holds_alternative<pmd::HcaSpec>(*spec))
                return Fault{line, fmt::format("device {} of {}: an adapter's port (hca:) has no backup here, nor is "
                                               "it one",
                                               device, port.name)};
        }
    return {};
}

}  // namespace verbline::cli
