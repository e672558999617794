// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The configuration of a gateway or host as plain values. Where they come from (apps/verbline/config reads
/// gateway.toml) is kept as line numbers, so that what is found wrong only at start, with the running port's P_Key
/// table and MTU, names FILE:LINE as well.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "datapath/forward/reverse_path.h"
#include "datapath/link/interface_address.h"
#include "datapath/wire/types.h"
#include "pmd/base/error.h"

namespace verbline::gateway {

enum class PortType : std::uint8_t { ethernet, ipoib };
/// What carries IPoIB: an InfiniBand subnet with its subnet manager, or RoCE v2 on an Ethernet link without one.
enum class IpoibLink : std::uint8_t { infiniband, roce_v2 };

struct PortConfig {
    /// Line numbers in the file; 0: not set there, or no file.
    struct Lines {
        unsigned port = 0, link = 0, mode = 0, device = 0, vlan = 0, sm = 0, backup_device = 0, backup_sm = 0, pkey = 0,
                 mtu = 0, address = 0, virtual_address = 0, advertise = 0, dhcp_relay = 0, dhcpv6_relay = 0, impair = 0,
                 capture = 0, program = 0;
    };

    std::string name;  ///< also that of the kernel-visible interface
    PortType type = PortType::ethernet;
    IpoibLink link = IpoibLink::infiniband;  ///< ipoib only
    bool connected = false;             ///< connected mode (RFC 4755) with neighbours that have it; InfiniBand only
    std::vector<std::string> devices;   ///< pmd/factory/device_spec.h; several: joined by a software switch
    std::optional<std::uint16_t> vlan;  ///< of one device, which ports of other VLANs may share; Ethernet links only
    std::string sm;                     ///< control/mad/open.h; only of an InfiniBand subnet
    /// Another port of the same subnet, or of another, that takes over (failover.h); empty: none. As `devices` and
    /// `sm`.
    std::vector<std::string> backup_devices{};
    std::string backup_sm{};
    wire::PKey pkey{0xffff};  ///< ipoib only
    std::uint32_t mtu = 0;    ///< of the interface: bytes of IP packet
    bool clamp_mss = false;   ///< lower TCP's maximum segment size to the MTU
    forward::ReversePathFilter reverse_path = forward::ReversePathFilter::off;  ///< check of sources
    bool proxy = false;     ///< answer for the hosts behind other such ports whose networks are the same
    bool multicast = true;  ///< route multicast groups from and to the port
    std::vector<link::InterfaceAddress> addresses;
    std::vector<wire::Gid> virtual_addresses{};     ///< that another program gives to one of several gateways (VRRP)
    bool advertise = false;                         ///< as an IPv6 router, to hosts that configure themselves
    std::vector<wire::Ipv4Address> dhcp_relay{};    ///< DHCP servers of the port's clients; none: nothing is relayed
    std::vector<wire::Ipv6Address> dhcpv6_relay{};  ///< likewise, of IPv6
    std::string impair;                             ///< empty: none
    std::string capture;                            ///< file; empty: none
    std::string program;                            ///< eBPF object that is run on what the port receives; empty: none
    std::string program_section;                    ///< of the object; empty: it has one program
    Lines lines;

    bool has_subnet() const { return type == PortType::ipoib && link == IpoibLink::infiniband; }
    bool has_backup() const { return !backup_devices.empty(); }
};

struct RouteConfig {
    link::InterfaceAddress to;  ///< a network
    wire::Gid via{};            ///< of the same family, or an IPv6 gateway of an IPv4 network (RFC 8950)
    std::string port;           ///< on whose link the gateway is; empty: the one whose network it is on
    unsigned line = 0;
};

/// How large the gateway's tables may become (table_limits.h). What does not fit is not used, and counted.
struct Limits {
    std::uint32_t routes = 16'384;       ///< of IPv4
    std::uint32_t routes_ipv6 = 16'384;  ///< of IPv6
    std::uint32_t neighbours = 4'096;    ///< of each family, of all ports together
    std::uint16_t next_hops = 4'096;     ///< different ones, of each family
};
constexpr Limits smallest_limits{.routes = 256, .routes_ipv6 = 256, .neighbours = 64, .next_hops = 64};
constexpr Limits largest_limits{
    .routes = 2'000'000, .routes_ipv6 = 200'000, .neighbours = 1'000'000, .next_hops = 32'000};

struct GatewayConfig {
    std::string file;                     ///< empty: from the command line
    std::string name;                     ///< of the instance
    std::string netns;                    ///< of the kernel-visible interfaces; empty: this one
    std::uint32_t dhcpv6_enterprise = 0;  ///< of Remote-Id in relayed DHCPv6 requests; 0: none is sent
    std::vector<PortConfig> ports;
    std::vector<RouteConfig> routes;
    Limits limits;
    struct Lines {
        unsigned name = 1, netns = 1, dhcpv6_enterprise = 1, limits = 0;
    } lines;
};

/// Null: there is no port of that name.
const PortConfig* find_port(const GatewayConfig& config, std::string_view name);

constexpr std::uint32_t min_ipv6_mtu = 1280;  ///< RFC 8200, 5: the kernel has no IPv6 on an interface of less
constexpr std::uint16_t max_vlan = 4094;      ///< IEEE 802.1Q, table 9-2
constexpr std::size_t max_ports = 64, max_devices = 16, max_addresses = 64, max_dhcp_servers = 8;

/// IPoIB's are the link's MTU less 4: an InfiniBand link's 2048; on RoCE the path MTU that fits Ethernet's 1500, 1024.
constexpr std::uint32_t default_mtu(PortType type, IpoibLink link = IpoibLink::infiniband) {
    if (type == PortType::ethernet) return 1500;
    return link == IpoibLink::infiniband ? 2044 : 1020;
}

/// Of connected mode, whose packets fit no datagram; and the largest.
constexpr std::uint32_t least_connected_mtu = 2044, most_connected_mtu = 65'520;

/// Of IP packets to every neighbour of the port and to its groups: the port's own, unless connections carry more.
constexpr std::uint32_t datagram_mtu(const PortConfig& port) {
    return port.connected ? default_mtu(PortType::ipoib) : port.mtu;
}

/// Of a port for which none is given.
constexpr std::uint32_t usual_mtu(const PortConfig& port) {
    return port.connected ? most_connected_mtu : default_mtu(port.type, port.link);
}

/// An error about a line of the file: `FILE:LINE: reason`; without a file the bare reason. Control characters are
/// replaced: the text may quote the file.
Error config_error(const std::string& file, unsigned line, std::string reason);

}  // namespace verbline::gateway
