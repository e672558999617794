// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// One shard's end of a port: a link, and the interface under which the kernel knows the port.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "datapath/forward/reverse_path.h"
#include "datapath/ipoib/interface.h"
#include "datapath/link/ethernet_interface.h"
#include "datapath/program/program_runner.h"
#include "datapath/router/messages.h"
#include "datapath/router/read_pause.h"
#include "pmd/netdev.h"

namespace verbline::router {

/// Configuration of a port. Devices are not owned, and must outlive the shard.
struct PortSetup {
    enum class Kind : std::uint8_t { ethernet, ipoib };

    std::string name;
    Kind kind = Kind::ethernet;
    pmd::NetDevice* device = nullptr;
    pmd::NetDevice* kernel = nullptr;  ///< Carries::ip
    std::uint32_t mtu = 1500;          ///< of IP packets, bytes
    bool clamp_mss = false;            ///< TCP segments routed through the port, either way, are to fit its MTU
    forward::ReversePathFilter reverse_path =
        forward::ReversePathFilter::off;        ///< check of the sources of what the port receives
    bool advertises = false;                    ///< router solicitations are the control thread's, not the kernel's
    bool multicast = false;                     ///< groups are routed; else all that comes is the kernel's
    program::PortProgram* program = nullptr;    ///< runs on what the link receives; null: none ever will
    ipoib::Connections* connections = nullptr;  ///< IPoIB in connected mode, of a router of one shard; else null
};

struct ShardPort {
    ShardPort(const PortSetup& setup, InterfaceId id, std::uint16_t queue, rte_mempool& pool);

    /// The link, of either kind.
    link::Interface& link() { return *link_; }
    const link::Interface& link() const { return *link_; }
    ipoib::IpoibInterface* ipoib() {
        auto* const held = std::get_if<std::unique_ptr<ipoib::IpoibInterface>>(&any);
        return held != nullptr ? held->get() : nullptr;
    }
    link::EthernetInterface* ethernet() {
        auto* const held = std::get_if<std::unique_ptr<link::EthernetInterface>>(&any);
        return held != nullptr ? held->get() : nullptr;
    }

    InterfaceId id{};
    std::string name;
    std::variant<std::unique_ptr<link::EthernetInterface>, std::unique_ptr<ipoib::IpoibInterface>> any;
    pmd::NetDevice& kernel;
    const pmd::Capabilities& kernel_capabilities;
    std::uint32_t mtu;           ///< to the neighbours that take most
    std::uint32_t datagram_mtu;  ///< to every neighbour, and to groups
    ipoib::Connections* connections;
    bool clamp_mss;
    forward::ReversePathFilter reverse_path;
    bool advertises;
    bool multicast;
    bool resolves_groups = false;                       ///< as SetBroadcast says
    bool carrier = false;                               ///< the link's state, as the control thread last saw it
    SetAddress addresses{};                             ///< sources of ICMP errors
    std::optional<link::Destination> broadcast{};       ///< where IPv4 broadcasts and multicasts go
    std::optional<link::Destination> ipv6_multicast{};  ///< likewise; on Ethernet with any group's MAC address

    std::optional<program::ProgramRunner> program;  ///< if there may ever be one

    ReadPause link_pause{}, kernel_pause{};

private:
    link::Interface* link_ = std::visit([](auto& l) -> link::Interface* { return l.get(); }, any);
};

using Ports = std::vector<std::unique_ptr<ShardPort>>;

}  // namespace verbline::router
