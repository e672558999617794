// SPDX-License-Identifier: BSD-3-Clause
// Which number a queue pair gets, and so which shard: one whose packets the device receives by that shard's queue.
#include <bit>
#include <cerrno>

#include "datapath/rdma/device.h"
#include "datapath/rdma/steering.h"

namespace verbline::rdma {

unsigned Device::pick_shard(const QueuePairOptions& options) {
    if (options.shared != nullptr) return options.shared->shard();
    if (options.xrc_domain != nullptr) return options.xrc_domain->id() % shards();
    if (options.shard >= 0) return static_cast<unsigned>(options.shard) % shards();
    return next_shard_++ % shards();
}

unsigned Device::shard_of(wire::Qpn qpn) const {
    return static_cast<std::uint32_t>(qpn) & (std::bit_ceil(shards()) - 1);
}

/// Whether packets that the peer sends with this flow label arrive at the queue that the QPN's shard polls.
bool Device::received_where_polled(const ExpectedPeer& peer, const pmd::RssTable& rss, wire::Qpn qpn,
                                   std::uint32_t flow_label) const {
    const auto to_peer = envelope_locked(peer.path, qpn, peer.qpn);
    if (!to_peer) return true;  // any shard will do: connecting will report the error
    const auto port = link::udp_source_port(flow_label, peer.qpn, qpn);
    const auto queue = receive_queue(rss, *to_peer, port);
    return !queue || *queue == options_.queues[shard_of(qpn)];
}

wire::Qpn Device::pick_qpn(const QueuePairOptions& options) {
    auto qpn = engines_[pick_shard(options)]->allocate_qpn();
    const auto rss = options.peer && shards() > 1 ? options_.device->rss() : std::nullopt;
    if (!rss) return qpn;
    // With uniform hashing one QPN in `shards()` is received by the shard that owns it. Some keys make no difference
    // between neighbouring ones: after some of these, others that differ in higher bits as well.
    constexpr unsigned neighbours = 8, stride = 101;
    const unsigned tries = 32 * shards();
    for (unsigned tried = 0; tried < tries && qpn != wire::Qpn{0}; ++tried) {
        if (received_where_polled(*options.peer, *rss, qpn, options.peer->path.address.flow_label)) break;
        qpn = engines_[pick_shard(options)]->allocate_qpn(tried < neighbours ? 1 : tried * stride);
    }
    return qpn;
}

std::uint32_t Device::flow_label_for(const ExpectedPeer& peer, wire::Qpn local) const {
    const auto rss = shards() > 1 ? options_.device->rss() : std::nullopt;
    if (!rss) return 0;
    const std::scoped_lock lock(mutex_);
    const unsigned tries = 32 * shards();
    for (unsigned tried = 0; tried < tries; ++tried) {
        const auto label = candidate_flow_label(tried);
        if (received_where_polled(peer, *rss, local, label)) return label;
    }
    return 0;
}

Result<wire::Qpn> Device::choose_qpn(const QueuePairOptions& options) {
    if (options.shared_target) {
        const auto number = *options.shared_target;
        if (!options_.member || options.type != transport::QueuePairType::xrc_target ||
            !link::is_shared_target(number)) {
            return failure(EINVAL, "only XRC targets of members of a node are shared, and have numbers of the node's");
        }
        if (!engines_.front()->is_free(number)) return failure(EBUSY, "this member has the shared target already");
        return number;
    }
    if (!options.general_services) {
        const auto qpn = pick_qpn(options);
        if (qpn == wire::Qpn{0}) return failure(ENOMEM, "all queue pair numbers of this shard are taken");
        return qpn;
    }
    if (options.type != transport::QueuePairType::ud || options.shared != nullptr) {
        return failure(EINVAL, "general services need a UD queue pair with its own receive queue");
    }
    if (engines_[shard_of(wire::gsi_qpn)]->find(wire::gsi_qpn) != nullptr) {
        return failure(EBUSY, options_.name + " has its queue pair for general services already; share that");
    }
    return wire::gsi_qpn;
}

}  // namespace verbline::rdma
