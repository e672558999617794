// SPDX-License-Identifier: BSD-3-Clause
#include <ranges>

#include <fmt/format.h>

#include "apps/verbline/doctor/fact_reader.h"

namespace verbline::doctor {
namespace {

constexpr std::int64_t flag_up = 1;  // IFF_UP

/// Whether a line of /proc/net/route is the default route by this interface: destination and mask are zero.
bool is_default_route(std::string_view line, std::string_view interface) {
    std::vector<std::string_view> fields;
    for (const auto part : std::views::split(line, '\t')) fields.emplace_back(part);
    return fields.size() > 7 && fields[0] == interface && fields[1] == "00000000" && fields[7] == "00000000";
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

bool FactReader::has_default_route(const std::string& name) const {
    const auto routes = root_.text("proc/net/route");
    for (const auto line : std::views::split(routes.value_or(""), '\n'))
        if (is_default_route(std::string_view(line), name)) return true;
    return false;
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
