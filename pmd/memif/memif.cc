// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/memif/memif.h"

#include <utility>

#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_mbuf.h>

#include <fmt/format.h>

#include "pmd/base/clock.h"

namespace verbline::pmd {
namespace {

constexpr Time longest_reading = 100 * millisecond;  ///< of what a peer left that has hung up

Result<void> check(const MemifOptions& options) {
    if (options.queues > 0 && options.log2_ring_size <= memif::max_log2_ring_size && options.buffer_size >= 64)
        return {};
    return failure(EINVAL,
                   fmt::format("memif {}: needs a queue, rings of at most 2^{} slots, and slots of at least 64 bytes",
                               options.path, memif::max_log2_ring_size));
}

}  // namespace

Result<std::unique_ptr<Memif>> Memif::create(const MemifOptions& options, rte_mempool* pool) {
    if (auto good = check(options); !good) return std::unexpected(good.error());
    auto endpoint = options.server ? memif::make_server(options, pool) : memif::make_client(options, pool);
    if (!endpoint) return std::unexpected(endpoint.error());
    return std::unique_ptr<Memif>(new Memif(options, std::move(*endpoint)));
}

Result<std::unique_ptr<Memif>> Memif::create(const MemifOptions& options, rte_mempool* pool, FileDescriptor peer) {
    if (auto good = check(options); !good) return std::unexpected(good.error());
    auto endpoint = options.server ? memif::make_connected_server(options, pool, std::move(peer))
                                   : memif::make_connected_client(options, pool, std::move(peer));
    return std::unique_ptr<Memif>(new Memif(options, std::move(endpoint)));
}

Memif::Memif(const MemifOptions& options, std::unique_ptr<memif::Handshake> endpoint)
    : name_("memif:" + options.path),
      capabilities_{.carries = Carries::ethernet,
                    .rx_queues = options.queues,
                    .tx_queues = options.queues,
                    .max_packet = options.mtu + std::uint32_t{RTE_ETHER_HDR_LEN},
                    .tx_offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS},
      endpoint_(std::move(endpoint)),
      gate_(2u * options.queues),
      lanes_(2u * options.queues) {}

Memif::~Memif() {
    Memif::down();
}

Result<void> Memif::up() {
    is_up_ = true;
    return {};
}

void Memif::down() {
    is_up_ = false;
    disconnect("interface down");
}

void Memif::disconnect(std::string_view reason) {
    if (auto connection = gate_.set(nullptr)) {
        connection->wake_receivers();
        // A receiver may have called `rx_event` and not slept on it yet: the number must not be reused.
        last_signals_ = std::move(connection->signals);
    }
    endpoint_->hang_up(reason);
    hung_up_.reset();
}

/// True while the connection is to be kept. After the peer has disconnected, it is kept until the receivers have taken
/// the remaining frames, but for `longest_reading` at most.
bool Memif::keep_connection() {
    const auto& connection = *gate_.get();
    const bool broken = connection.broken();
    if (!broken && !hung_up_ && endpoint_->alive()) return true;
    if (!broken && connection.unread()) {
        if (!hung_up_) {
            hung_up_ = monotonic_now();
            connection.wake_receivers();
        }
        if (monotonic_now() - *hung_up_ < longest_reading) return true;
    }
    (broken ? link_.link_violations : link_.link_losses).add();
    disconnect(broken ? "invalid ring or descriptor" : "");
    return false;
}

bool Memif::link_up() {
    if (!is_up_) return false;
    if (gate_.get() != nullptr && keep_connection()) return !hung_up_;
    auto connection = endpoint_->advance();
    if (!connection) link_.link_refusals.add();
    if (!connection || !*connection) return false;
    link_.link_connects.add();
    gate_.set(std::move(*connection));
    gate_.get()->wake_receivers();  // so that they arm their events on this connection
    return true;
}

std::uint16_t Memif::rx_burst(std::uint16_t queue, Burst burst) noexcept {
    auto& counters = lanes_[queue].counters;
    return gate_.with(queue, std::uint16_t{0}, [&](memif::SharedRings& connection) {
        return connection.rx[queue].receive(burst, {counters.rx_good_packets, counters.rx_good_bytes,
                                                    counters.rx_mbuf_allocation_errors, counters.rx_dropped_malformed});
    });
}

std::uint16_t Memif::tx_burst(std::uint16_t queue, Burst burst) noexcept {
    const std::size_t lane = capabilities_.rx_queues + std::size_t{queue};
    auto& counters = lanes_[lane].counters;
    constexpr std::uint16_t no_peer = 0xffff;
    const auto n = gate_.with(lane, no_peer, [&](memif::SharedRings& connection) {
        return connection.tx[queue].send(
            burst, {counters.tx_good_packets, counters.tx_good_bytes, counters.tx_dropped_oversize});
    });
    if (n != no_peer) return n;
    // Kept, they would be stale by the time a peer connects, and the caller would have to wait.
    rte_pktmbuf_free_bulk(burst.data(), static_cast<unsigned>(burst.size()));
    counters.tx_dropped_link_down.add(burst.size());
    return static_cast<std::uint16_t>(burst.size());
}

int Memif::rx_event(std::uint16_t queue) const noexcept {
    return gate_.with(queue, -1, [&](const memif::SharedRings& connection) { return connection.rx[queue].signal(); });
}

void Memif::want_rx_event(std::uint16_t queue, bool wanted) noexcept {
    gate_.with(queue, false, [&](memif::SharedRings& connection) {
        connection.rx[queue].want_signals(wanted);
        return true;
    });
}

void Memif::counters(const CounterVisitor& visit) const {
    visit_sums(lanes_, visit, [](const Lane& lane) -> const MemifCounters& { return lane.counters; });
    link_.each(visit);
    visit("link_untrusted_servers", endpoint_->untrusted_servers(),
          "connects refused because the socket or its server belongs to another user");
}

}  // namespace verbline::pmd
