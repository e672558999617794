// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/hca/hca.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <random>
#include <utility>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <fmt/format.h>

#include "pmd/base/clock.h"
#include "pmd/base/numa.h"
#include "pmd/base/tunables.h"
#include "pmd/hca/library.h"

namespace verbline::pmd {
namespace {

using hca::Adapter;

constexpr std::size_t hash_key_size = 40;          ///< for the addresses and ports of IPv6
constexpr std::uint16_t most_large_segments = 32;  ///< 64 KB in buffers of 2304 bytes
constexpr std::uint16_t most_segments = 4;         ///< more pieces make a request longer, and so the send queue
constexpr std::uint64_t checksums =
    RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM;
constexpr std::uint64_t verified_checksums =
    RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_TCP_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM;

/// The threads of the gate: each queue has one that receives and one that sends, which may be the same.
std::size_t receiving_thread(std::uint16_t queue) {
    return 2u * queue;
}
std::size_t sending_thread(std::uint16_t queue) {
    return 2u * queue + 1;
}

/// Random, as someone who knows it could aim all flows at one queue.
std::vector<std::uint8_t> random_key() {
    std::random_device random;
    std::vector<std::uint8_t> key(hash_key_size);
    std::ranges::generate(key, [&] { return static_cast<std::uint8_t>(random()); });
    return key;
}

std::string where(const HcaOptions& options) {
    return fmt::format("port {} of RDMA device {}", options.port, options.device);
}

}  // namespace

Hca::Hca(const HcaOptions& options, const hca::Verbs& verbs, const PacketPools& pools)
    : options_(options),
      name_(fmt::format("hca:{}/{}", options.device, options.port)),
      verbs_(verbs),
      pools_(pools),
      hash_key_(random_key()),
      gate_(2u * options.queues),
      events_(options.queues) {
    for (auto& event : events_) event.store(-1, std::memory_order_relaxed);
    for (std::uint16_t i = 0; i < options.queues; ++i)
        queue_counters_.push_back(std::make_unique<hca::QueueCounters>());
}

Result<std::unique_ptr<Hca>> Hca::create(const HcaOptions& options, const PacketPools& pools) {
    const auto verbs = hca::open_library(options.library);
    if (!verbs) return std::unexpected(verbs.error());
    std::unique_ptr<Hca> device(new Hca(options, **verbs, pools));
    device->capabilities_.rx_queues = std::min(options.receive_queues.value_or(options.queues), options.queues);
    auto adapter = device->open();
    if (!adapter) return std::unexpected(adapter.error());
    if (auto fit = device->check(**adapter); !fit) return std::unexpected(fit.error());
    device->describe(**adapter);
    device->adapter_ = std::move(*adapter);
    device->learn();
    return device;
}

Hca::~Hca() {
    close_gate();
}

Result<std::unique_ptr<Adapter>> Hca::open() {
    return Adapter::open(verbs_,
                         {.device = options_.device,
                          .port = options_.port,
                          .queues = options_.queues,
                          .receive_queues = capabilities_.rx_queues,
                          .hash_key = hash_key_,
                          .receives = tunables::hca_receives,
                          .sends = tunables::hca_sends,
                          .send_segments = most_segments,
                          .large_segments = most_large_segments,
                          .does_tso = &segments_,
                          .beside = options_.beside,
                          .sys = options_.sys},
                         pools_, queue_counters_);
}

Result<void> Hca::check(const Adapter& adapter) const {
    const auto& facts = adapter.facts();
    if (options_.link_layer == LinkLayer::infiniband && facts.ethernet) {
        return failure(EINVAL, fmt::format("{} is an Ethernet port, and an InfiniBand port is needed: for IPoIB over "
                                           "RoCE say link = \"roce_v2\" instead of sm",
                                           where(options_)));
    }
    if (options_.link_layer == LinkLayer::ethernet && !facts.ethernet) {
        return failure(EINVAL, fmt::format("{} is an InfiniBand port, and an Ethernet port is needed: for IPoIB on its "
                                           "subnet say sm = \"umad:{},port={}\" instead of link = \"roce_v2\"",
                                           where(options_), options_.device, options_.port));
    }
    if (facts.state == IBV_PORT_DOWN || facts.state == IBV_PORT_NOP) {
        return failure(ENETDOWN, fmt::format("{} is down: {}", where(options_),
                                             facts.ethernet ? "set its interface up, and connect its cable"
                                                            : "connect its cable; rdma link shows its state"));
    }
    if (facts.ethernet && !facts.has_gid()) {
        return failure(EADDRNOTAVAIL, fmt::format("{} has no link-local GID of RoCE v2: let its interface have IPv6, "
                                                  "or its adapter RoCE v2",
                                                  where(options_)));
    }
    if (options_.pkey && facts.active() && !adapter.has_pkey(*options_.pkey)) {
        return failure(ENOENT, fmt::format("P_Key {:#06x} is not in the P_Key table of {}, which has {}",
                                           static_cast<unsigned>(*options_.pkey), where(options_), adapter.pkeys()));
    }
    return {};
}

void Hca::describe(const Adapter& adapter) {
    const auto segments = adapter.send_segments();
    capabilities_ = {.carries = Carries::datagram,
                     .rx_queues = adapter.receive_queues(),
                     .tx_queues = options_.queues,
                     .max_packet = adapter.facts().mtu,
                     .rx_offloads = RTE_ETH_RX_OFFLOAD_SCATTER,
                     .max_segments = segments};
    if (segments > 1) capabilities_.tx_offloads |= RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
    if (adapter.does_checksums()) {
        capabilities_.tx_offloads |= checksums;
    }
    if (adapter.verifies_checksums()) capabilities_.rx_offloads |= verified_checksums;
    if (adapter.max_tso() > 0) {
        capabilities_.tx_offloads |= RTE_ETH_TX_OFFLOAD_TCP_TSO;
        capabilities_.max_tso = adapter.max_tso();
        capabilities_.max_tso_segments = segments;
    }
    numa_socket_ = numa_socket_of_interface(options_.device, "/sys/class/infiniband").value_or(any_numa_socket);
}

std::uint16_t Hca::rx_burst(std::uint16_t queue, Burst burst) noexcept {
    return gate_.with(receiving_thread(queue), std::uint16_t{0}, [&](Adapter& adapter) {
        auto* const receiver = adapter.receiver(queue);
        return receiver != nullptr ? receiver->receive(burst) : std::uint16_t{0};
    });
}

std::uint16_t Hca::tx_burst(std::uint16_t queue, Burst burst) noexcept {
    if (!burst.empty()) return 0;
    return gate_.with(sending_thread(queue), std::uint16_t{0}, [&](Adapter& adapter) {
        adapter.sender(queue).reap();
        return std::uint16_t{0};
    });
}

std::uint16_t Hca::send(std::uint16_t queue, std::span<const Datagram> burst) noexcept {
    constexpr int nobody = -1;
    const int sent = gate_.with(sending_thread(queue), nobody,
                                [&](Adapter& adapter) { return int{adapter.sender(queue).send(burst)}; });
    if (sent != nobody) return static_cast<std::uint16_t>(sent);
    for (const auto& datagram : burst) rte_pktmbuf_free(datagram.payload);
    queue_counters_[queue]->tx.tx_dropped_down.add(burst.size());
    return static_cast<std::uint16_t>(burst.size());
}

int Hca::rx_event(std::uint16_t queue) const noexcept {
    return events_[queue].load(std::memory_order_relaxed);
}

void Hca::want_rx_event(std::uint16_t queue, bool wanted) noexcept {
    gate_.with(receiving_thread(queue), 0, [&](Adapter& adapter) {
        if (auto* const receiver = adapter.receiver(queue)) receiver->want_event(wanted);
        return 0;
    });
}

void Hca::counters(const CounterVisitor& visit) const {
    visit_sums(queue_counters_, visit, [](const auto& each) -> const hca::HcaRxCounters& { return each->rx; });
    visit_sums(queue_counters_, visit, [](const auto& each) -> const hca::HcaTxCounters& { return each->tx; });
    counters_.each(visit);
}

void Hca::queue_counters(std::uint16_t queue, const CounterVisitor& visit) const {
    queue_counters_[queue]->rx.each(visit);
    queue_counters_[queue]->tx.each(visit);
}

}  // namespace verbline::pmd
