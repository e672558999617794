// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/tun/tun.h"

#include <array>
#include <cerrno>
#include <utility>

#include <limits.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_mbuf.h>
#include <sys/uio.h>

#include "pmd/tun/read_chain.h"
#include "pmd/tun/vnet_header.h"

namespace verbline::pmd {
namespace {

constexpr std::size_t max_gso = 65535;
constexpr std::uint16_t max_segments = IOV_MAX - 1;  ///< of one system call, behind the header
/// The largest packet, its Ethernet header and VLAN tag, and one byte by which a longer one shows.
constexpr std::size_t read_capacity = 65536 + RTE_ETHER_HDR_LEN + RTE_VLAN_HLEN + 1;

Capabilities capabilities_of(const TunOptions& options, const TunInterface& interface) {
    const auto queues = interface.queues();
    const auto carries = options.kind == TunKind::tun ? Carries::ip : Carries::ethernet;
    return {
        .carries = carries,
        .rx_queues = queues,
        .tx_queues = queues,
        .max_packet = options.mtu + (carries == Carries::ethernet ? std::uint32_t{RTE_ETHER_HDR_LEN} : 0),
        .tx_offloads = RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM |
                       RTE_ETH_TX_OFFLOAD_TCP_TSO | RTE_ETH_TX_OFFLOAD_MULTI_SEGS |
                       (interface.takes_udp_segmentation() ? RTE_ETH_TX_OFFLOAD_UDP_TSO : 0),
        .rx_offloads = RTE_ETH_RX_OFFLOAD_SCATTER | (options.offloads ? RTE_ETH_RX_OFFLOAD_TCP_LRO : 0),
        .max_tso = max_gso,
        .max_tso_segments = max_segments,
        .max_segments = max_segments,
        .lossless_rx = true,
    };
}

}  // namespace

/// Its two halves may be used by two threads; the counters of each direction lie apart for that.
struct Tun::Queue {
    Queue(int descriptor, rte_mempool* pool)
        : fd(descriptor), chain(pool, read_capacity, std::as_writable_bytes(std::span(&header, 1))) {}

    const int fd;
    VnetHeader header{};  ///< of the packet being read
    ReadChain chain;
    TunCounters rx;
    alignas(RTE_CACHE_LINE_SIZE) TunCounters tx;
    std::array<iovec, IOV_MAX> vectors;  ///< of the packet being written
};

Result<std::unique_ptr<Tun>> Tun::create(const TunOptions& options, const PacketPools& pools) {
    auto interface = TunInterface::open(options);
    if (!interface) return std::unexpected(interface.error());
    return std::unique_ptr<Tun>(new Tun(std::move(*interface), options, pools));
}

Tun::Tun(TunInterface interface, const TunOptions& options, const PacketPools& pools)
    : interface_(std::move(interface)), capabilities_(capabilities_of(options, interface_)) {
    for (std::size_t i = 0; i < interface_.queues(); ++i) {
        queues_.push_back(std::make_unique<Queue>(interface_.queue(i), pools[i]));
    }
}

Tun::~Tun() = default;

std::uint16_t Tun::rx_burst(std::uint16_t index, Burst burst) noexcept {
    auto& queue = *queues_[index];
    std::uint16_t n = 0;
    // Each read is one packet, refused ones included, so a burst is bounded whatever the kernel holds.
    for (std::size_t reads = 0; reads < burst.size(); ++reads) {
        if (!queue.chain.refill()) {
            queue.rx.rx_mbuf_allocation_errors.add();
            break;
        }
        const auto vectors = queue.chain.vectors();
        const auto bytes = readv(queue.fd, vectors.data(), static_cast<int>(vectors.size()));
        if (bytes < 0) {
            if (errno != EAGAIN && errno != EINTR) queue.rx.rx_errors.add();
            break;
        }
        if (auto* packet = receive(queue, static_cast<std::size_t>(bytes))) burst[n++] = packet;
    }
    return n;
}

rte_mbuf* Tun::receive(Queue& queue, std::size_t bytes) noexcept {
    if (bytes <= sizeof(queue.header)) {
        queue.rx.rx_errors.add();
        return nullptr;
    }
    const auto length = bytes - sizeof(queue.header);
    if (length >= read_capacity) {  // the kernel cuts silently
        queue.rx.rx_dropped_oversize.add();
        return nullptr;
    }
    auto* packet = queue.chain.take(length);
    if (!read_vnet_header(queue.header, capabilities_.carries, *packet)) {
        queue.rx.rx_dropped_vnet_header.add();
        rte_pktmbuf_free(packet);
        return nullptr;
    }
    queue.rx.rx_good_packets.add();
    queue.rx.rx_good_bytes.add(length);
    return packet;
}

std::uint16_t Tun::tx_burst(std::uint16_t index, Burst burst) noexcept {
    auto& queue = *queues_[index];
    std::uint16_t n = 0;
    for (auto* packet : burst) {
        auto header = make_vnet_header(*packet);
        if (!header) {
            queue.tx.tx_dropped_offload.add();
        } else if (packet->nb_segs >= queue.vectors.size()) {
            queue.tx.tx_dropped_segments.add();
        } else {
            queue.vectors[0] = {&*header, sizeof(*header)};
            int count = 1;
            for (auto* segment = packet; segment != nullptr; segment = segment->next) {
                queue.vectors[static_cast<std::size_t>(count++)] = {rte_pktmbuf_mtod(segment, void*),
                                                                    segment->data_len};
            }
            if (writev(queue.fd, queue.vectors.data(), count) >= 0) {
                queue.tx.tx_good_packets.add();
                queue.tx.tx_good_bytes.add(packet->pkt_len);
            } else if (errno == EAGAIN || errno == EINTR) {
                break;
            } else {
                queue.tx.tx_dropped_refused.add();
            }
        }
        rte_pktmbuf_free(packet);
        ++n;
    }
    return n;
}

void Tun::counters(const CounterVisitor& visit) const {
    std::vector<const TunCounters*> each;
    for (const auto& queue : queues_) each.insert(each.end(), {&queue->rx, &queue->tx});
    visit_sums(each, visit, [](const TunCounters* counters) -> const TunCounters& { return *counters; });
}

}  // namespace verbline::pmd
