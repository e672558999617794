// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The settings that `verbline run` passes to the libibverbs.so.1 inside a program: links, addresses, MTU, impairment,
/// capture.
///
/// They travel in the environment, since the program knows nothing of Verbline:
///
///     VERBLINE_LINK      links, separated by spaces; unset or empty: hub:default
///     VERBLINE_IP        addresses with prefix length, separated by spaces
///     VERBLINE_MTU       bytes behind the Ethernet header; unset: the link's own
///     VERBLINE_IMPAIR    pmd/impair/spec.h; on every link
///     VERBLINE_CAPTURE   a pcapng file
///     VERBLINE_DIRECT    `no`: on a hub, exchange all packets through it, none by direct links (pmd/direct)
///     VERBLINE_SYSFS     the directory of the devices' sysfs entries (apps/libibverbs/namespace/sysfs_tree.h)
///     VERBLINE_HINTS     not empty: print why calls fail (apps/libibverbs/port/hints.h); not parsed here
///
/// A link is written
///
///     memif:SOCKET[,server][,owner=UID]     shared memory with one other process
///     hub:NAME                              a lane of `verbline hub NAME`
///     node:NAME                             the port of `verbline node NAME`, shared with its other programs
///     eth:IFNAME                            an Ethernet interface of the kernel
///     tap:IFNAME[,netns=NS][,queues=N]      a new interface of the kernel, whose other end is ours
///     ib:HOST@FABRIC                        the port of that host on a soft InfiniBand fabric
///     dpdk:net_af_packetN,iface=IFNAME      the same by DPDK's driver; its others are for hubs
///
/// Parsing is strict: unknown input is an error of one line. Parsing does not check whether a link exists: preflight.h
/// does before the program starts, and opening the device does again.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "control/hub/identity.h"
#include "datapath/link/interface_address.h"
#include "pmd/base/error.h"
#include "pmd/factory/device_spec.h"

namespace verbline::verbs {

struct HubLink {
    std::string name;
    bool operator==(const HubLink&) const = default;
};

struct NodeLink {
    std::string name;
    bool operator==(const NodeLink&) const = default;
};

using InfinibandLink = hub::FabricPlace;

/// Whether the port's other end is a process, which maps the program's memory: vhost-user.
bool is_vhost_port(const pmd::DpdkSpec& port);

/// A new kind: its text in settings.cc, its checks in ../launch/link_check.cc, its Opener in ../link/link.cc.
/// apps/EXTENDING.md has all places in order.
using Link =
    std::variant<HubLink, NodeLink, pmd::MemifSpec, pmd::EthernetSpec, pmd::TapSpec, InfinibandLink, pmd::DpdkSpec>;

using link::InterfaceAddress;
/// "10.1.0.1/24", "fd00::1/64", "10.1.0.1/24%0x8001": an address that an interface can have.
Result<InterfaceAddress> parse_address(std::string_view text);

Result<Link> parse_link(std::string_view text);
/// Inverse of `parse_link`.
std::string text(const Link& link);

inline bool is_infiniband(const Link& link) {
    return std::holds_alternative<InfinibandLink>(link);
}

constexpr std::size_t max_links = 8;
constexpr std::size_t max_addresses = 8;  ///< each is two entries of the GID table
constexpr std::uint16_t min_mtu = 576;
Result<std::uint16_t> parse_mtu(std::string_view text);
constexpr std::string_view default_hub = "default";

struct Settings {
    std::vector<Link> links{HubLink{std::string(default_hub)}};  ///< at least one
    std::vector<InterfaceAddress> addresses;  ///< of the first RoCE link; without one, IPoIB's of the first
    std::uint16_t mtu = 0;                    ///< bytes behind the Ethernet header; 0: the link's own
    std::string impair;                       ///< empty: none
    std::string capture;                      ///< file; empty: none
    std::string sysfs;                        ///< directory; empty: none
    bool direct = true;                       ///< direct links with other programs of a hub

    bool operator==(const Settings&) const = default;
};

/// Device names of the links, in their order: verbline0, verbline1, ... and, on the soft fabric, verbline_ib0, ...
std::vector<std::string> device_names(std::span<const Link> links);

/// Reads one variable; nullopt if it is not set.
using Environment = std::function<std::optional<std::string>(const char* name)>;
std::optional<std::string> process_environment(const char* name);

Result<Settings> settings_from_environment(const Environment& environment = process_environment);

/// Checks that settings whose parts are well-formed do not contradict each other.
Result<void> check(const Settings& settings);

/// Every variable above with its value; an empty value means that it is to be unset.
std::vector<std::pair<std::string, std::string>> environment_of(const Settings& settings);

}  // namespace verbline::verbs
