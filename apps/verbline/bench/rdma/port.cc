// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/rdma/port.h"

#include <algorithm>
#include <utility>
#include <variant>

#include <rte_errno.h>
#include <rte_ether.h>
#include <rte_mbuf.h>

#include <fmt/format.h>

#include "apps/libibverbs/namespace/proposed_address.h"
#include "control/host/kernel_neighbour.h"
#include "datapath/link/ip_gid.h"
#include "pmd/base/clock.h"
#include "pmd/base/tunables.h"
#include "pmd/factory/open_device.h"
#include "pmd/impair/impair.h"
#include "pmd/packet_pool.h"

namespace verbline::rdma_bench {
namespace {

constexpr unsigned packets = 8191, pool_cache = 256;
constexpr std::uint32_t headers = 128;          ///< around the payload of a packet, behind the Ethernet header
constexpr std::uint32_t link_mtu = 4096 + 104;  ///< as programs under `verbline run` have it
constexpr std::uint32_t room = RTE_PKTMBUF_HEADROOM + RTE_ETHER_HDR_LEN + link_mtu + headers;
constexpr Time upkeep_interval = millisecond, resolution_patience = 5 * second;
constexpr unsigned own_interface = 1;

/// A DPDK port has to be configured, and few take more than Ethernet's; others say themselves what they take.
std::uint16_t mtu_of(const PortOptions& options) {
    if (!std::holds_alternative<pmd::DpdkSpec>(options.device)) return link_mtu;
    return static_cast<std::uint16_t>(
        std::max<std::uint32_t>(RTE_ETHER_MTU, options.mtu == 4096 ? 0 : options.mtu + headers));
}

bool is_link_local(const wire::Gid& gid) {
    return !link::ipv4_of(gid) && wire::is_link_local(link::ipv6_of(gid));
}

}  // namespace

void Port::FreePool::operator()(rte_mempool* pool) const {
    rte_mempool_free(pool);
}

std::size_t Port::buffer_memory_mb() {
    return (std::size_t{packets} * (room + sizeof(rte_mbuf) + RTE_CACHE_LINE_SIZE) >> 20) + 1;
}

Result<std::unique_ptr<Port>> Port::open(const PortOptions& options) {
    auto port = std::make_unique<Port>();
    port->text_ = options.text;
    port->roce_ = options.roce;
    port->pool_.reset(pmd::make_packet_pool(options.name.c_str(), packets, pool_cache, room, SOCKET_ID_ANY,
                                            pmd::BufferLayout::packed));
    if (port->pool_ == nullptr) return failure(rte_errno, "no memory for packets; give DPDK more with `-m MB --`");
    if (auto good = port->open_device(options); !good) return std::unexpected(good.error());
    if (auto good = port->open_rdma(options); !good) return std::unexpected(good.error());
    return port;
}

Result<void> Port::open_device(const PortOptions& options) {
    addresses_ = options.addresses;
    bool own_neighbours = true;
    std::optional<wire::MacAddress> mac;
    if (const auto* const ethernet = std::get_if<pmd::EthernetSpec>(&options.device)) {
        auto kernel = host::kernel_addresses(ethernet->interface);
        if (!kernel) return std::unexpected(kernel.error());
        ifindex_ = kernel->ifindex, mac = kernel->mac;
        if (addresses_.empty()) {
            addresses_ = kernel->addresses, own_neighbours = false;
            auto guard = host::UdpGuard::open();
            if (!guard) return std::unexpected(guard.error());
            guard_.emplace(std::move(*guard));
        }
    }
    constexpr std::uint32_t slot = (RTE_ETHER_HDR_LEN + 4 + link_mtu + 127) / 128 * 128;
    auto device = pmd::open_device(options.device, {.pool = pool_.get(),
                                                    .mtu = mtu_of(options),
                                                    .memif_slot = slot,
                                                    .memif_log2_ring = tunables::program_memif_log2_ring,
                                                    .persistent = false});
    if (!device) return std::unexpected(device.error());
    device_ = std::move(*device);
    if (device_->capabilities().carries != pmd::Carries::ethernet)
        return failure(EINVAL, fmt::format("{} carries no Ethernet frames", text_));
    if (!mac) mac = device_->mac();
    mac_ = mac ? *mac : verbs::random_mac();
    if (options.impair) {
        device_ = std::make_unique<pmd::ImpairedDevice>(std::move(device_), *options.impair, monotonic_now);
        impaired_ = true;
    }
    if (own_neighbours) {
        auto neighbours =
            std::make_unique<neighbour::NeighbourDevice>(std::move(device_), mac_, pool_.get(), monotonic_now);
        neighbours->set_addresses(addresses_);
        neighbours_ = neighbours.get();
        device_ = std::move(neighbours);
    }
    return device_->up();
}

Result<void> Port::open_rdma(const PortOptions& options) {
    auto made = rdma::Device::create({.name = options.name,
                                      .device = device_.get(),
                                      .pool = pool_.get(),
                                      .mac = mac_,
                                      .max_queue_pairs = options.queue_pairs + 2,
                                      .start = monotonic_now()});
    if (!made) return std::unexpected(made.error());
    rdma_ = std::move(*made);
    idle_ = std::make_unique<IdleWait>(*device_);
    rdma_->change_gids([&](link::GidTable& gids) {
        gids.add_interface(own_interface, mac_);
        for (const auto& address : addresses_) gids.add_address(own_interface, address.gid);
    });
    return {};
}

void Port::upkeep(Time now) noexcept {
    next_upkeep_ = now + upkeep_interval;
    link_up_ = rdma_->check_link();
}

wire::Gid Port::address() const {
    for (const auto& address : addresses_)
        if (!is_link_local(address.gid)) return address.gid;
    return link_local();
}

Result<rdma::Path> Port::path_to(const wire::Gid& peer) {
    auto ours = link_local();
    if (!is_link_local(peer)) {
        const bool ipv4 = link::ipv4_of(peer).has_value();
        auto chosen = std::ranges::find_if(addresses_, [&](const auto& each) { return contains(each, peer); });
        // By way of a router, which the kernel knows.
        if (chosen == addresses_.end() && neighbours_ == nullptr)
            chosen = std::ranges::find_if(addresses_, [&](const auto& each) {
                return link::ipv4_of(each.gid).has_value() == ipv4 && !is_link_local(each.gid);
            });
        if (chosen == addresses_.end())
            return failure(EHOSTUNREACH, fmt::format("{} has no address on the network of {}; give one with --ip",
                                                     text_, link::address_text(peer)));
        ours = chosen->gid;
    }
    const auto index = rdma_->gids().find(ours, roce_, {});
    if (!index) return failure(EADDRNOTAVAIL, fmt::format("{} has no such address of this version of RoCE", text_));
    auto mac = next_hop(ours, peer);
    if (!mac) return std::unexpected(mac.error());
    return rdma::Path{.gid_index = static_cast<unsigned>(*index),
                      .address = {.global = true, .dgid = peer, .hop_limit = 64},
                      .mac = *mac};
}

Result<wire::MacAddress> Port::next_hop(const wire::Gid& from, const wire::Gid& to) {
    if (const auto known = link::mac_of_link_local(to)) return *known;
    if (neighbours_ == nullptr) return host::resolve_kernel_neighbour(ifindex_, from, to, resolution_patience);
    const auto until = monotonic_now() + resolution_patience;
    for (auto now = monotonic_now(); now < until; now = monotonic_now()) {
        if (const auto mac = neighbours_->find(to)) return *mac;
        if (!neighbours_->resolving(to)) neighbours_->resolve(to);
        poll(now);
    }
    return failure(EHOSTUNREACH,
                   fmt::format("no host on {} answers for {}; start the server first", text_, link::address_text(to)));
}

}  // namespace verbline::rdma_bench
