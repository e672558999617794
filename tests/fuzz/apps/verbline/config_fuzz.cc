// SPDX-License-Identifier: BSD-3-Clause
// Any file is either a configuration that keeps every promise of config.h, or one line of error.

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string_view>

#include "apps/verbline/config/config.h"
#include "datapath/link/interface_address.h"
#include "datapath/link/ip_gid.h"

namespace {

void require(bool holds) {
    if (!holds) std::abort();
}

void check_port(const verbline::cli::PortConfig& port) {
    using verbline::cli::PortType;
    require(!port.name.empty() && port.name.size() < 16 && !port.devices.empty());
    require(port.mtu >= 68 && port.mtu <= (port.type == PortType::ipoib ? 4092 : 9216));
    require(port.has_subnet() == !port.sm.empty());
    require(verbline::wire::partition(port.pkey) != 0);
    require(port.lines.port != 0);
    for (const auto& address : port.addresses) require(verbline::link::usable(address));
}

bool is_link_local(const verbline::link::InterfaceAddress& address) {
    return !verbline::link::ipv4_of(address.gid) && verbline::wire::is_link_local(verbline::link::ipv6_of(address.gid));
}

/// Each link has its own link-local network; others are on one port.
void check_apart(const verbline::cli::PortConfig& a, const verbline::cli::PortConfig& b) {
    require(a.name != b.name);
    for (const auto& one : a.addresses)
        for (const auto& other : b.addresses)
            require((is_link_local(one) && is_link_local(other)) ||
                    (!contains(one, other.gid) && !contains(other, one.gid)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    const auto config = verbline::cli::parse_config({reinterpret_cast<const char*>(data), size}, "f");
    if (!config) {
        const auto& line = config.error().what;
        require(line.starts_with("f:") && std::ranges::none_of(line, [](unsigned char c) { return std::iscntrl(c); }));
        return 0;
    }
    require(!config->ports.empty());
    for (const auto& port : config->ports) {
        check_port(port);
        for (const auto& other : config->ports)
            if (&other != &port) check_apart(port, other);
    }
    for (const auto& route : config->routes) require(route.to == verbline::link::network_of(route.to));
    return 0;
}
