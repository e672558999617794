// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Several queue pairs beside each other, spread over the shards of the device; each pings as ping.h's does. Shows how
/// both ends of a connection come to the shard that receives its packets:
///
///     client                                                             server
///       QPN: a shard in turn ─────────────────────────────────────────────>
///       <──────────── QPN: one whose shard the client's packets arrive at (QueuePairOptions::peer)
///       flow label: with it, the server's packets arrive at our shard ────> (Device::flow_label_for)

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>

#include "apps/rdma_ping/exchange.h"
#include "apps/rdma_ping/must.h"
#include "apps/rdma_ping/options.h"
#include "apps/rdma_ping/ping.h"
#include "apps/rdma_ping/port.h"
#include "apps/rdma_ping/shards.h"
#include "apps/rdma_ping/times.h"
#include "pmd/base/clock.h"

namespace verbline::rdma_ping {

class Spread {
public:
    Spread(const Options& options, PingPort& port, Exchange& exchange, const std::vector<unsigned>& lcores)
        : options_(options),
          port_(port),
          exchange_(exchange),
          device_(create_device(options, port, std::max<unsigned>(1, static_cast<unsigned>(lcores.size())))),
          memory_(2 * std::size_t{options.size} * options.qps),
          shards_(*device_, lcores) {}

    void connect() {
        for (std::uint32_t i = 0; i < options_.qps; ++i) {
            auto& flow = flows_.emplace_back();
            options_.server.empty() ? answer(flow, i) : ask(flow, i);
            post_receive(i);
        }
        must(exchange_.meet());  // both ends have posted their receive requests
    }

    void client() {
        std::vector<Time> took;
        for (std::uint32_t i = 0; i < options_.qps; ++i) ping(i);
        for (auto left = options_.qps; left > 0;) {
            wait([] { return false; });
            for (std::uint32_t i = 0; i < options_.qps; ++i) {
                auto& flow = flows_[i];
                if (flow.sending || !flow.received) continue;
                took.push_back(flow.came - flow.began);
                if (std::memcmp(out(i), in(i), options_.size) != 0)
                    throw std::runtime_error("a ping came back changed");
                flow.received = false;
                if (++flow.pings == options_.count) {
                    --left;
                } else {
                    post_receive(i);
                    ping(i);
                }
            }
        }
        exchange_.say_done();
        while (!exchange_.peer_is_done()) poll();  // it may still await our ACK
        finish();
        print(took);
    }

    void server() {
        while (wait([this] { return exchange_.peer_is_done(); })) {
            for (std::uint32_t i = 0; i < options_.qps; ++i) {
                auto& flow = flows_[i];
                if (flow.sending || !flow.received) continue;
                std::memcpy(out(i), in(i), options_.size);
                flow.received = false;
                post_receive(i);
                send(i);
            }
        }
        exchange_.say_done();
        finish();
    }

private:
    struct Flow {
        std::unique_ptr<rdma::QueuePair> pair;
        wire::Psn first;
        std::uint32_t pings = 0;
        Time began = 0, came = 0;
        bool sending = false, received = false;
    };

    static constexpr auto rights = memory::Access::local_write;

    std::byte* out(std::uint32_t flow) { return memory_.data() + 2 * std::size_t{options_.size} * flow; }
    std::byte* in(std::uint32_t flow) { return out(flow) + options_.size; }

    rdma::QueuePairOptions pair_options() {
        return {.type = transport::QueuePairType::rc,
                .pd = pd_,
                .send_completions = sent_.get(),
                .receive_completions = received_.get(),
                .send = {.requests = 2, .segments = 1},
                .receive = {.requests = 2, .segments = 1}};
    }
    Introduction introduction(const Flow& flow, std::uint32_t index) const {
        return {.qpn = flow.pair->qpn(),
                .psn = flow.first,
                .mtu = std::min(options_.mtu, device_->max_mtu()),
                .mac = device_->options().mac,
                .lid = options_.lid,
                .gid = options_.gid,
                .address = std::uint64_t{options_.size} << 32 | (options_.qps - index),
                .selective_ack = rdma::QueuePair::offers_selective_ack};
    }
    /// Both ends have the same number of queue pairs, and of bytes.
    void must_match(const Introduction& peer, std::uint32_t index) const {
        if (peer.address != (std::uint64_t{options_.size} << 32 | (options_.qps - index))) {
            throw std::runtime_error("give both ends the same --qps and --size");
        }
    }

    void ask(Flow& flow, std::uint32_t index) {
        flow.pair = must(device_->create_queue_pair(pair_options()));
        flow.first = wire::Psn(static_cast<std::uint32_t>(monotonic_now()));
        auto ours = introduction(flow, index);
        must(exchange_.introduce(ours));
        const auto peer = must(exchange_.await_introduction());
        must_match(peer, index);
        const auto path = path_to(options_, *device_, peer);
        ours.flow_label = device_->flow_label_for({path, peer.qpn}, ours.qpn);
        must(exchange_.introduce(ours));
        to_rts(flow, peer, path);
    }
    void answer(Flow& flow, std::uint32_t index) {
        auto peer = must(exchange_.await_introduction());
        must_match(peer, index);
        auto options = pair_options();
        options.peer = rdma::ExpectedPeer{path_to(options_, *device_, peer), peer.qpn};
        flow.pair = must(device_->create_queue_pair(options));
        flow.first = wire::Psn(static_cast<std::uint32_t>(monotonic_now()));
        must(exchange_.introduce(introduction(flow, index)));
        peer = must(exchange_.await_introduction());
        to_rts(flow, peer, path_to(options_, *device_, peer));
    }
    void to_rts(Flow& flow, const Introduction& peer, const rdma::Path& path) {
        must(flow.pair->init({.access = rights}));
        must(flow.pair->ready_to_receive({.remote = peer.qpn,
                                          .path = path,
                                          .mtu = std::min({options_.mtu, device_->max_mtu(), peer.mtu}),
                                          .first = peer.psn,
                                          .selective_ack = peer.selective_ack}));
        must(flow.pair->ready_to_send({.first = flow.first}));
    }

    void ping(std::uint32_t index) {
        auto& flow = flows_[index];
        for (std::uint32_t i = 0; i < options_.size; ++i) {
            out(index)[i] = static_cast<std::byte>(((index + 1) * 7919 + flow.pings * 977 + i) * 2654435761u >> 24);
        }
        flow.began = monotonic_now();
        send(index);
    }
    void send(std::uint32_t index) {
        const transport::Segment segment{reinterpret_cast<std::uint64_t>(out(index)), options_.size, region_.lkey()};
        flows_[index].sending = true;
        must(flows_[index].pair->post(
            transport::SendRequest{.id = index, .segments = {&segment, 1}, .flags = transport::send_signalled}));
    }
    void post_receive(std::uint32_t index) {
        const transport::Segment segment{reinterpret_cast<std::uint64_t>(in(index)), options_.size, region_.lkey()};
        must(flows_[index].pair->post(transport::ReceiveRequest{.id = index, .segments = {&segment, 1}}));
    }

    void poll() {
        port_.upkeep(monotonic_now());
        shards_.poll();
    }
    /// Waits for completions, and notes whose they are. False: `done` before there was one.
    template <class Done>
    bool wait(Done done) {
        const auto limit = monotonic_now() + 20 * second;
        for (;;) {
            const auto take = [](transport::CompletionQueue& queue, auto note) {
                std::array<transport::Completion, 64> completions;
                const auto n = queue.poll(completions);
                for (const auto& each : std::span(completions).first(n)) {
                    if (each.status != transport::Status::success) {
                        throw std::runtime_error(fmt::format("a request failed: {}", text(each.status)));
                    }
                    note(each.id);
                }
                return n;
            };
            const auto n = take(*sent_, [this](std::uint64_t id) { flows_[id].sending = false; }) +
                           take(*received_, [this](std::uint64_t id) {
                               flows_[id].received = true, flows_[id].came = monotonic_now();
                           });
            if (n > 0) return true;
            if (done()) return false;
            if (monotonic_now() > limit) throw std::runtime_error("the peer is silent; see what it printed");
            poll();
        }
    }

    void finish() {
        std::vector<unsigned> pairs(device_->shards());
        for (const auto& flow : flows_) ++pairs[device_->shard_of(flow.pair->qpn())];
        shards_.print(pairs);
    }

    const Options& options_;
    PingPort& port_;
    Exchange& exchange_;
    std::unique_ptr<rdma::Device> device_;
    std::vector<std::byte> memory_;
    memory::PdId pd_ = device_->allocate_pd();
    rdma::MemoryRegion region_ = must(device_->register_memory(pd_, memory_, rights));
    std::unique_ptr<transport::CompletionQueue> sent_ = device_->create_cq(2 * max_qps),
                                                received_ = device_->create_cq(2 * max_qps);
    std::deque<Flow> flows_;
    Shards shards_;  // last: its threads end first
};

}  // namespace verbline::rdma_ping
