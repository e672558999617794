// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The native API in one file: a device, registered memory, a reliable connection; SEND, WRITE and READ over it, from
/// the thread that also polls the shard. port.h is what any DPDK program has; exchange.h swaps the connection data.

#include <memory>
#include <numeric>
#include <vector>

#include "apps/rdma_ping/buffers.h"
#include "apps/rdma_ping/exchange.h"
#include "apps/rdma_ping/loop.h"
#include "apps/rdma_ping/must.h"
#include "apps/rdma_ping/port.h"
#include "apps/rdma_ping/times.h"
#include "pmd/base/clock.h"

namespace verbline::rdma_ping {

/// Creates a device on the port, and adds our address to its GID table. Each shard has its queue of the port.
inline std::unique_ptr<rdma::Device> create_device(const Options& options, PingPort& port, unsigned shards = 1) {
    const bool roce = options.carrier != link::GidType::ib;
    std::vector<std::uint16_t> queues(shards);
    std::iota(queues.begin(), queues.end(), std::uint16_t{0});
    auto device = must(rdma::Device::create({.name = "rdma_ping",
                                             .device = &port.device(),
                                             .queues = queues,
                                             .pool = port.pool(),
                                             .kind = roce ? link::GidTable::Kind::roce : link::GidTable::Kind::ib,
                                             .mac = port.device().mac().value_or(options.mac()),
                                             .lid = options.lid,
                                             .max_queue_pairs = max_qps + 2,
                                             .start = monotonic_now()}));
    device->change_gids([&](link::GidTable& gids) {
        gids.add_interface(1, device->options().mac);
        gids.add_address(1, options.gid);
    });
    return device;
}

/// The path to the peer, by the GID of our address.
inline rdma::Path path_to(const Options& options, const rdma::Device& device, const Introduction& peer) {
    rdma::Path path{.address = {.dlid = peer.lid}, .mac = peer.mac};
    if (options.carrier != link::GidType::ib) {
        path.gid_index = static_cast<unsigned>(*device.gids().find(options.gid, options.carrier, {}));
        path.address = {.global = true, .dgid = peer.gid, .hop_limit = 64, .flow_label = peer.flow_label};
    }
    return path;
}

class Ping {
public:
    Ping(const Options& options, PingPort& port, Exchange& exchange)
        : options_(options),
          exchange_(exchange),
          device_(create_device(options, port)),
          loop_(port, *device_, exchange) {}

    /// INIT, RTR and RTS, with the connection data of the peer.
    void connect() {
        must(pair_->init({.access = rights}));
        const auto mtu = std::min(options_.mtu, device_->max_mtu());
        peer_ = must(exchange_.swap({.qpn = pair_->qpn(),
                                     .psn = first_,
                                     .mtu = mtu,
                                     .mac = device_->options().mac,
                                     .lid = options_.lid,
                                     .gid = options_.gid,
                                     .rkey = region_.rkey(),
                                     .address = buffers_.address(Part::peers),
                                     .selective_ack = rdma::QueuePair::offers_selective_ack}));
        must(pair_->ready_to_receive({.remote = peer_.qpn,
                                      .path = path_to(options_, *device_, peer_),
                                      .mtu = std::min(mtu, peer_.mtu),
                                      .first = peer_.psn,
                                      .selective_ack = peer_.selective_ack}));
        must(pair_->ready_to_send({.first = first_}));
        post_receive();
        must(exchange_.meet());  // both ends have posted a receive request
    }

    /// Sends pings, and expects the same bytes back; then WRITEs to the peer's memory and READs it back.
    void client() {
        std::vector<Time> took;
        for (std::uint32_t n = 0; n < options_.count; ++n) {
            buffers_.fill(n, options_.size);
            const auto began = monotonic_now();
            post(transport::SendOperation::send, Part::outgoing, options_.size);
            loop_.await(*received_);
            took.push_back(monotonic_now() - began);
            loop_.await(*sent_);
            buffers_.must_agree(options_.size, "a ping returned altered");
            post_receive();
        }
        buffers_.fill(options_.count, options_.size);
        post(transport::SendOperation::write, Part::outgoing, options_.size);
        post(transport::SendOperation::read, Part::incoming, options_.size);  // in order: returns what was written
        loop_.await(*sent_), loop_.await(*sent_);
        buffers_.must_agree(options_.size, "READ gave something else than was written");
        exchange_.say_done();
        while (!exchange_.peer_is_done()) loop_.poll();  // it may still await our ACK
        print(took);
    }

    /// Echoes every ping. WRITEs and READs need only that the shard is polled.
    void server() {
        while (const auto ping = loop_.next(*received_)) {
            buffers_.echo(ping->length);
            post_receive();
            post(transport::SendOperation::send, Part::outgoing, ping->length);
            loop_.await(*sent_);
        }
        exchange_.say_done();
    }

private:
    void post_receive() {
        const transport::Segment segment{buffers_.address(Part::incoming), max_size, region_.lkey()};
        must(pair_->post(transport::ReceiveRequest{.segments = {&segment, 1}}));
    }
    void post(transport::SendOperation operation, Part part, std::uint32_t length) {
        const transport::Segment segment{buffers_.address(part), length, region_.lkey()};
        must(pair_->post(transport::SendRequest{.segments = {&segment, 1},
                                                .operation = operation,
                                                .flags = transport::send_signalled,
                                                .remote_address = peer_.address,
                                                .rkey = peer_.rkey}));
    }

    static constexpr auto rights =
        memory::Access::local_write | memory::Access::remote_write | memory::Access::remote_read;

    const Options& options_;
    Exchange& exchange_;
    Introduction peer_;
    const wire::Psn first_{static_cast<std::uint32_t>(monotonic_now())};
    Buffers buffers_;
    std::unique_ptr<rdma::Device> device_;
    Loop loop_;
    memory::PdId pd_ = device_->allocate_pd();
    rdma::MemoryRegion region_ = must(device_->register_memory(pd_, buffers_.all(), rights));
    std::unique_ptr<transport::CompletionQueue> sent_ = device_->create_cq(16), received_ = device_->create_cq(16);
    std::unique_ptr<rdma::QueuePair> pair_ = must(device_->create_queue_pair({.type = transport::QueuePairType::rc,
                                                                              .pd = pd_,
                                                                              .send_completions = sent_.get(),
                                                                              .receive_completions = received_.get()}));
};

}  // namespace verbline::rdma_ping
