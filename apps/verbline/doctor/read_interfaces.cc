// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <ranges>

#include <fmt/format.h>

#include "apps/verbline/doctor/fact_reader.h"

namespace verbline::doctor {
namespace {

constexpr std::int64_t flag_up = 1;  // IFF_UP

std::vector<std::string_view> fields_of(std::string_view line) {
    std::vector<std::string_view> all;
    for (std::size_t begin = 0; (begin = line.find_first_not_of(" \t", begin)) != line.npos;) {
        const auto end = std::min(line.find_first_of(" \t", begin), line.size());
        all.push_back(line.substr(begin, end - begin));
        begin = end;
    }
    return all;
}

/// Of /proc/net/route: interface, destination, and the mask as the eighth word.
bool is_default_route(std::string_view line, std::string_view interface) {
    const auto word = fields_of(line);
    return word.size() > 7 && word[0] == interface && word[1] == "00000000" && word[7] == "00000000";
}

/// Of /proc/net/ipv6_route: destination, length of its prefix, and the interface as the last word.
bool is_default_route_v6(std::string_view line, std::string_view interface) {
    const auto word = fields_of(line);
    return word.size() > 9 && word[0].find_first_not_of('0') == line.npos && word[1] == "00" && word[9] == interface;
}

}  // namespace

std::vector<Interface> FactReader::interfaces(const std::string& device) const {
    std::vector<Interface> all;
    const auto add = [&](const std::string& directory) {
        for (const auto& name : root_.entries(directory)) all.push_back(interface(directory + "/" + name, name));
    };
    add(device + "/net");
    for (const auto& name : root_.entries(device))  // virtio's interfaces are those of a device below the PCI one
        if (name.starts_with("virtio")) add(fmt::format("{}/{}/net", device, name));
    return all;
}

Interface FactReader::interface(const std::string& directory, const std::string& name) const {
    Interface interface{.name = name};
    interface.type = root_.number(directory + "/type");
    interface.mtu = root_.number(directory + "/mtu");
    if (const auto speed = root_.number(directory + "/speed"); speed && *speed > 0) interface.speed_mbps = speed;
    if (const auto flags = root_.number(directory + "/flags")) interface.up = (*flags & flag_up) != 0;
    interface.carrier = root_.flag(directory + "/carrier");  // not readable while the interface is down
    interface.default_route = has_default_route(name);
    return interface;
}

/// The kernel lists default routes first, so that the beginning of a long table is enough.
bool FactReader::has_default_route(const std::string& name) const {
    const auto any = [&](const char* path, auto is_default) {
        const auto routes = root_.beginning(path).value_or("");
        return std::ranges::any_of(std::views::split(routes, '\n'),
                                   [&](auto line) { return is_default(std::string_view(line), name); });
    };
    return any("proc/net/route", is_default_route) || any("proc/net/ipv6_route", is_default_route_v6);
}

std::vector<RdmaDevice> FactReader::rdma_devices(const std::string& device) const {
    std::vector<RdmaDevice> all;
    for (const auto& name : root_.entries(device + "/infiniband")) {
        RdmaDevice rdma{.name = name};
        const auto ports = fmt::format("{}/infiniband/{}/ports", device, name);
        for (const auto& number : root_.entries(ports)) {
            const auto types = fmt::format("{}/{}/gid_attrs/types", ports, number);
            for (const auto& index : root_.entries(types))  // those of empty entries cannot be read
                if (root_.text(types + "/" + index).value_or("").contains("RoCE")) ++rdma.roce_gids;
        }
        all.push_back(rdma);
    }
    return all;
}

}  // namespace verbline::doctor
