// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/link/link.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <utility>

#include <net/if.h>
#include <rte_ether.h>
#include <rte_mbuf.h>

#include <fmt/format.h>

#include "apps/libibverbs/settings/fabric_port.h"
#include "control/host/kernel_neighbour.h"
#include "control/host/udp_guard.h"
#include "datapath/link/ip_gid.h"
#include "datapath/link/soft_ib.h"
#include "pmd/base/clock.h"
#include "pmd/base/tunables.h"
#include "pmd/capture/capture.h"
#include "pmd/factory/open_device.h"
#include "pmd/impair/impair.h"
#include "pmd/impair/spec.h"

namespace verbline::verbs {
namespace {

/// Bytes around the payload of a packet, behind the Ethernet header; what fits into a link's MTU is the path MTU.
constexpr std::uint16_t default_mtu = 4200;
constexpr unsigned memif_log2_ring = tunables::program_memif_log2_ring;

class Opener {
public:
    Opener(const Settings& settings, const PortIdentity& identity, const LinkOwner& owner)
        : settings_(settings), identity_(identity), owner_(owner) {}

    Result<OpenedLink> open(const Link& link) {
        out_.text = text(link);
        out_.mac = identity_.own_mac;
        if (identity_.first) out_.addresses = settings_.addresses;
        if (auto opened = std::visit([this](const auto& each) { return device(each); }, link); !opened) {
            return std::unexpected(opened.error());
        }
        if (auto finished = decorate(); !finished) return std::unexpected(finished.error());
        return std::move(out_);
    }

private:
    Result<void> device(const HubLink& link);
    Result<void> device(const NodeLink& link);
    Result<void> device(const pmd::MemifSpec& spec) {
        out_.peer_comes_and_goes = true;
        return open_device(spec, memif_slot(mtu()), memif_log2_ring);
    }
    Result<void> device(const pmd::TapSpec& spec) { return open_device(spec); }
    Result<void> device(const pmd::DpdkSpec& spec) {
        auto opened = open_device(spec);
        if (opened) out_.mac = out_.device->mac().value_or(out_.mac);
        return opened;
    }
    Result<void> device(const pmd::EthernetSpec& link);
    Result<void> device(const InfinibandLink& link);

    Result<void> open_lane(Result<hub::Lane> lane);
    Result<void> add_direct_links();
    Result<void> open_device(const pmd::DeviceSpec& spec, std::uint32_t slot = 0, unsigned log2_ring = 0);
    Result<void> decorate();
    void take_fabric_addresses();
    std::uint16_t mtu() const { return settings_.mtu != 0 ? settings_.mtu : default_mtu; }
    /// A program's second device does not write into the first one's file.
    std::string capture_file() const {
        if (identity_.index == 0) return settings_.capture;
        std::filesystem::path file(settings_.capture);
        return file.replace_filename(
            fmt::format("{}.{}{}", file.stem().string(), identity_.name, file.extension().string()));
    }
    static std::uint32_t memif_slot(std::uint16_t mtu) { return (mtu + 14u + 4u + 127u) & ~127u; }

    const Settings& settings_;
    const PortIdentity& identity_;
    const LinkOwner& owner_;
    OpenedLink out_;
    bool own_neighbours_ = true;  ///< ARP and ND are ours
};

Result<void> Opener::open_device(const pmd::DeviceSpec& spec, std::uint32_t slot, unsigned log2_ring) {
    auto most = mtu();
    // Other devices report the MTU that they support; DPDK ports have to be configured, and few support more than this.
    if (settings_.mtu == 0 && std::holds_alternative<pmd::DpdkSpec>(spec)) most = RTE_ETHER_MTU;
    pmd::OpenOptions options{.pool = owner_.pool, .mtu = most, .persistent = false};
    if (slot != 0) {
        options.memif_slot = slot;
        options.memif_log2_ring = log2_ring;
    }
    auto device = pmd::open_device(spec, options);
    if (!device) return std::unexpected(device.error());
    out_.device = std::move(*device);
    return {};
}

Result<void> Opener::open_lane(Result<hub::Lane> lane) {
    if (!lane) return std::unexpected(lane.error());
    out_.mac = lane->mac;
    out_.addresses = lane->addresses;
    out_.lane = std::move(*lane);
    auto device = pmd::Memif::create({.path = out_.lane.memif_socket,
                                      .log2_ring_size = hub::Lane::log2_ring_size,
                                      .buffer_size = out_.lane.slot_size(),
                                      .mtu = std::min(mtu(), out_.lane.mtu)},
                                     owner_.pool);
    if (!device) return std::unexpected(device.error());
    out_.lane_device = device->get();
    out_.device = std::move(*device);
    return {};
}

Result<void> Opener::device(const HubLink& link) {
    auto lane = hub::join(
        {.hub = link.name, .mac = out_.mac, .addresses = out_.addresses, .program = {}, .direct = settings_.direct});
    if (auto opened = open_lane(std::move(lane)); !opened) return opened;
    out_.rejoin = [name = link.name, direct = settings_.direct](const hub::Lane& before) {
        return hub::join(
            {.hub = name, .mac = before.mac, .addresses = before.addresses, .program = {}, .direct = direct});
    };
    return settings_.direct ? add_direct_links() : Result<void>();
}

/// Neighbours are the node's: it owns the port.
Result<void> Opener::device(const NodeLink& link) {
    own_neighbours_ = false;
    auto lane = hub::join({.hub = link.name,
                           .kind = hub::ServerKind::node,
                           .addresses = out_.addresses,
                           .program = {},
                           .direct = settings_.direct});
    if (auto opened = open_lane(std::move(lane)); !opened) return opened;
    out_.rejoin = [name = link.name, direct = settings_.direct](const hub::Lane& before) {
        return hub::join({.hub = name,
                          .kind = hub::ServerKind::node,
                          .mac = link::mac_of(*before.member),
                          .addresses = {},
                          .program = {},
                          .direct = direct});
    };
    auto subnet = hub::ask_subnet_port(out_.lane);
    if (!subnet) return std::unexpected(subnet.error());
    if (*subnet) {
        out_.fabric = std::move((*subnet)->facts);
        out_.reregistrations = (*subnet)->reregistrations;
        out_.broadcast = (*subnet)->broadcast;
        take_fabric_addresses();
    }
    return settings_.direct ? add_direct_links() : Result<void>();
}

/// Below all that impairs and captures this program's packets. Ports of a soft fabric have none: its hub is the switch
/// between them. Programs that share a port, as members of a node, have them there as well: to an adapter's own port
/// packets do not pass the switch either.
Result<void> Opener::add_direct_links() {
    auto device = pmd::DirectLinks::create(std::move(out_.device), {.pool = owner_.pool,
                                                                    .buffer_size = out_.lane.slot_size(),
                                                                    .log2_ring_size = hub::Lane::log2_ring_size,
                                                                    .clock = monotonic_now});
    if (!device) return std::unexpected(device.error());
    out_.direct = device->get();
    out_.device = std::move(*device);
    return {};
}

Result<void> Opener::device(const pmd::EthernetSpec& link) {
    auto kernel = host::kernel_addresses(link.interface);
    if (!kernel) return std::unexpected(kernel.error());
    out_.ifindex = kernel->ifindex;
    out_.interface = link.interface;
    out_.mac = kernel->mac;
    if (out_.addresses.empty()) {
        own_neighbours_ = false;
        out_.addresses = kernel->addresses;
        auto guard = host::UdpGuard::open();
        if (!guard) return std::unexpected(guard.error());
        out_.guard = std::make_shared<host::UdpGuard>(std::move(*guard));
    }
    return open_device(pmd::EthernetSpec{.interface = link.interface});
}

Result<void> Opener::device(const InfinibandLink& link) {
    auto port = fabric_port(link);
    if (!port) return std::unexpected(port.error());
    own_neighbours_ = false;
    out_.fabric = std::move(*port);
    const auto mac = link::soft_ib::mac_of(out_.fabric.lid);
    if (auto opened = open_lane(join_fabric(link, mac, out_.addresses)); !opened) return opened;
    out_.rejoin = [link](const hub::Lane& before) { return join_fabric(link, before.mac, before.addresses); };
    out_.fabric_link = link;
    take_fabric_addresses();
    return {};
}

/// GIDs of the port are the fabric's; those of the lane are for IP.
void Opener::take_fabric_addresses() {
    out_.ipoib_addresses = std::exchange(out_.addresses, {{out_.fabric.gid(), 64}});
}

Result<void> Opener::decorate() {
    if (out_.interface.empty() && !out_.infiniband()) {
        // Without descriptors left to query it, the usual number is assumed.
        if (const auto loopback = if_nametoindex("lo"); loopback != 0) out_.ifindex = loopback;
    }
    if (!settings_.impair.empty()) {
        const auto spec = pmd::parse_impairments(settings_.impair);
        if (!spec) return std::unexpected(spec.error());
        out_.device = std::make_unique<pmd::ImpairedDevice>(std::move(out_.device), *spec, owner_.clock);
        out_.held_back = true;
    }
    if (!settings_.capture.empty()) {
        auto file = pmd::CaptureFile::create(capture_file());
        if (!file) return std::unexpected(file.error());
        out_.capture = std::move(*file);
        out_.device =
            std::make_unique<pmd::CapturedDevice>(std::move(out_.device), identity_.name, *out_.capture, utc_now);
    }
    if (own_neighbours_) {
        auto device =
            std::make_unique<neighbour::NeighbourDevice>(std::move(out_.device), out_.mac, owner_.pool, owner_.clock);
        device->set_addresses(out_.addresses);
        out_.neighbours = device.get();
        out_.device = std::move(device);
    }
    if (auto up = out_.device->up(); !up) return up;
    std::ignore = out_.device->link_up();
    return {};
}

}  // namespace

Result<OpenedLink> open_link(const Link& link, const Settings& settings, const PortIdentity& identity,
                             const LinkOwner& owner) {
    return Opener(settings, identity, owner).open(link);
}

}  // namespace verbline::verbs
