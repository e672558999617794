// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/rdma/port.h"

#include <algorithm>
#include <random>
#include <utility>
#include <variant>

#include <rte_errno.h>
#include <rte_ether.h>
#include <rte_mbuf.h>

#include <fmt/format.h>

#include "apps/libibverbs/namespace/proposed_address.h"
#include "control/rdmacm/port_use.h"
#include "pmd/base/clock.h"
#include "pmd/packet_pool.h"

namespace verbline::rdma_bench {
namespace {

constexpr unsigned packets = 8191, pool_cache = 256;
constexpr std::uint32_t services = 3;           ///< queue pairs: 0, QP1 and that of messages
constexpr std::uint32_t headers = 128;          ///< around the payload of a packet, behind the Ethernet header
constexpr std::uint32_t link_mtu = 4096 + 104;  ///< as programs under `verbline run` have it
constexpr std::uint32_t room = RTE_PKTMBUF_HEADROOM + RTE_ETHER_HDR_LEN + link_mtu + headers;
constexpr Time upkeep_interval = millisecond;

/// A DPDK port has to be configured, with Ethernet's MTU if nothing is said; others say themselves what they take (0).
std::uint16_t mtu_of(const PortOptions& options) {
    if (!std::holds_alternative<pmd::DpdkSpec>(options.link) || options.mtu == 4096) return 0;
    return static_cast<std::uint16_t>(std::max<std::uint32_t>(RTE_ETHER_MTU, options.mtu + headers));
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
                                      .kind = infiniband() ? link::GidTable::Kind::ib : link::GidTable::Kind::roce,
                                      .mac = link_.mac,
                                      .lid = link_.fabric.lid,
                                      .max_queue_pairs = options.queue_pairs + services,
                                      .first_slot = std::random_device()(),  // others may have the address, too
                                      .member = member(),
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

std::uint32_t Port::max_mtu() const {
    return infiniband() && link_.fabric.mtu != 0 ? std::min<std::uint32_t>(rdma_->max_mtu(), link_.fabric.mtu)
                                                 : rdma_->max_mtu();
}

std::vector<wire::PKey> Port::pkeys() const {
    return link_.fabric.pkeys.empty() ? std::vector{wire::PKey{0xffff}} : link_.fabric.pkeys;
}

Result<void> Port::reserve(std::uint16_t space, std::uint16_t number) {
    if (!member()) return {};
    constexpr hub::PortUse listener{.family = rdmacm::Family::ib, .address = {}, .listening = true};
    auto reserved = hub::reserve_port(link_.lane, space, number, listener);
    return reserved ? Result<void>() : std::unexpected(reserved.error());
}

}  // namespace verbline::rdma_bench
