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
#include "pmd/packet_pool.h"

namespace verbline::rdma_bench {
namespace {

constexpr unsigned packets = 8191, pool_cache = 256;
constexpr std::uint32_t headers = 128;          ///< around the payload of a packet, behind the Ethernet header
constexpr std::uint32_t link_mtu = 4096 + 104;  ///< as programs under `verbline run` have it
constexpr std::uint32_t room = RTE_PKTMBUF_HEADROOM + RTE_ETHER_HDR_LEN + link_mtu + headers;
constexpr Time upkeep_interval = millisecond, resolution_patience = 5 * second;

/// A DPDK port has to be configured, with Ethernet's MTU if nothing is said; others say themselves what they take (0).
std::uint16_t mtu_of(const PortOptions& options) {
    if (!std::holds_alternative<pmd::DpdkSpec>(options.link) || options.mtu == 4096) return 0;
    return static_cast<std::uint16_t>(std::max<std::uint32_t>(RTE_ETHER_MTU, options.mtu + headers));
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
    port->roce_ = options.roce;
    port->pool_.reset(pmd::make_packet_pool(options.name.c_str(), packets, pool_cache, room, SOCKET_ID_ANY,
                                            pmd::BufferLayout::packed));
    if (port->pool_ == nullptr) return failure(rte_errno, "no memory for packets; give DPDK more with `-m MB --`");
    auto opened = verbs::open_link(
        options.link,
        {.links = {options.link}, .addresses = options.addresses, .mtu = mtu_of(options), .impair = options.impair},
        {.name = options.name, .instance = options.name, .own_mac = verbs::random_mac()},
        {.pool = port->pool_.get(), .clock = monotonic_now});
    if (!opened) return std::unexpected(opened.error());
    port->link_ = std::move(*opened);
    if (port->link_.direct != nullptr) port->link_.direct->use(port->broker_);
    if (auto good = port->open_rdma(options); !good) return std::unexpected(good.error());
    return port;
}

Result<void> Port::open_rdma(const PortOptions& options) {
    auto made = rdma::Device::create({.name = options.name,
                                      .device = link_.device.get(),
                                      .pool = pool_.get(),
                                      .mac = link_.mac,
                                      .max_queue_pairs = options.queue_pairs + 2,
                                      .start = monotonic_now()});
    if (!made) return std::unexpected(made.error());
    rdma_ = std::move(*made);
    idle_ = std::make_unique<IdleWait>(*link_.device);
    rdma_->change_gids([&](link::GidTable& gids) {
        gids.add_interface(link_.ifindex, link_.mac);
        for (const auto& address : link_.addresses) gids.add_address(link_.ifindex, address.gid);
    });
    return {};
}

void Port::upkeep(Time now) noexcept {
    next_upkeep_ = now + upkeep_interval;
    link_up_ = rdma_->check_link();
}

wire::Gid Port::address() const {
    for (const auto& address : link_.addresses)
        if (!is_link_local(address.gid)) return address.gid;
    return link_local();
}

Result<rdma::Path> Port::path_to(const wire::Gid& peer) {
    auto ours = link_local();
    if (!is_link_local(peer)) {
        const bool ipv4 = link::ipv4_of(peer).has_value();
        auto chosen = std::ranges::find_if(link_.addresses, [&](const auto& each) { return contains(each, peer); });
        // By way of a router, which the kernel knows.
        if (chosen == link_.addresses.end() && link_.neighbours == nullptr)
            chosen = std::ranges::find_if(link_.addresses, [&](const auto& each) {
                return link::ipv4_of(each.gid).has_value() == ipv4 && !is_link_local(each.gid);
            });
        if (chosen == link_.addresses.end())
            return failure(EHOSTUNREACH, fmt::format("{} has no address on the network of {}; give one with --ip",
                                                     text(), link::address_text(peer)));
        ours = chosen->gid;
    }
    const auto index = rdma_->gids().find(ours, roce_, {});
    if (!index) return failure(EADDRNOTAVAIL, fmt::format("{} has no such address of this version of RoCE", text()));
    auto mac = next_hop(ours, peer);
    if (!mac) return std::unexpected(mac.error());
    return rdma::Path{.gid_index = static_cast<unsigned>(*index),
                      .address = {.global = true, .dgid = peer, .hop_limit = 64},
                      .mac = *mac};
}

Result<wire::MacAddress> Port::next_hop(const wire::Gid& from, const wire::Gid& to) {
    if (const auto known = link::mac_of_link_local(to)) return *known;
    if (link_.neighbours == nullptr)
        return host::resolve_kernel_neighbour(link_.ifindex, from, to, resolution_patience);
    const auto until = monotonic_now() + resolution_patience;
    for (auto now = monotonic_now(); now < until; now = monotonic_now()) {
        if (const auto mac = link_.neighbours->find(to)) return *mac;
        if (!link_.neighbours->resolving(to)) link_.neighbours->resolve(to);
        poll(now);
    }
    return failure(EHOSTUNREACH,
                   fmt::format("no host on {} answers for {}; start the server first", text(), link::address_text(to)));
}

}  // namespace verbline::rdma_bench
