// SPDX-License-Identifier: BSD-3-Clause

/// @file
/// Several shards of an RDMA device beside each other, each on a thread of its own that runs both ends of its queue
/// pairs: messages of 64 bytes that they carry together, for each second that their threads had a CPU, and for each
/// second of the clock. Memory keys, the pool of packets and the devices are shared. The ICRC is computed and checked.

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "bench/support/lcores.h"
#include "bench/support/quiet_device.h"
#include "bench/support/rdma_ends.h"
#include "datapath/link/flow_hash.h"
#include "datapath/link/ip_gid.h"
#include "datapath/rdma/queue_pair.h"
#include "pmd/base/clock.h"
#include "pmd/rss/software_rss.h"

namespace verbline {
namespace {

using bench::must;
using transport::QueuePairType, transport::SendOperation, transport::SendRequest;

constexpr std::size_t small = 64, batch = 32, signal_every = 16, depth = 256;

/// One end of a cable with so many lanes: each queue has a ring in both directions. `shift`: what is sent on a queue
/// arrives at the other end's queue behind it, so that nothing arrives where its queue pair is.
class CableEnd final : public bench::QuietDevice {
public:
    explicit CableEnd(std::uint16_t queues) { capabilities_.rx_queues = capabilities_.tx_queues = queues; }
    const pmd::Capabilities& capabilities() const override { return capabilities_; }

    static void connect(CableEnd& a, CableEnd& b, std::uint16_t shift) {
        const auto queues = a.capabilities_.rx_queues;
        for (auto [from, to] : {std::pair(&a, &b), std::pair(&b, &a)}) {
            for (std::uint16_t i = 0; i < queues; ++i) {
                static unsigned made = 0;  // names of rings are the process's
                from->out_.push_back(std::make_shared<pmd::HandoverRing>(
                    must(pmd::HandoverRing::create("lane" + std::to_string(made++), pmd::any_numa_socket))));
            }
            for (std::uint16_t i = 0; i < queues; ++i) to->in_.push_back(from->out_[(i + shift) % queues]);
        }
    }

    std::uint16_t rx_burst(std::uint16_t queue, pmd::Burst burst) noexcept override { return in_[queue]->pop(burst); }
    std::uint16_t tx_burst(std::uint16_t queue, pmd::Burst burst) noexcept override { return out_[queue]->push(burst); }

private:
    pmd::Capabilities capabilities_;
    std::vector<std::shared_ptr<pmd::HandoverRing>> in_, out_;
};

/// A cable with a queue for each shard; or with one that is spread in software.
struct Wiring {
    std::uint16_t shards = 1;
    std::uint16_t shift = 0;
    bool one_queue = false;
};

class Ends {
public:
    explicit Ends(const Wiring& wiring) {
        pool();  // starts DPDK, of which the rings are
        std::array<std::unique_ptr<pmd::NetDevice>, 2> made;
        const std::uint16_t queues = wiring.one_queue ? 1 : wiring.shards;
        auto a = std::make_unique<CableEnd>(queues), b = std::make_unique<CableEnd>(queues);
        CableEnd::connect(*a, *b, wiring.shift);
        made = {std::move(a), std::move(b)};
        for (std::size_t end = 0; end < 2; ++end) {
            if (wiring.one_queue) {
                made[end] = must(pmd::SoftwareRss::create(std::move(made[end]),
                                                          {.queues = wiring.shards, .flows = &hash_, .owners = {0}}));
            }
            open(end, std::move(made[end]), wiring.shards);
        }
        for (unsigned shard = 0; shard < wiring.shards; ++shard) lanes_.emplace_back(*this, shard);
    }

    /// Carries messages over one shard's queue pair until `stop`; returns how many.
    std::uint64_t carry(std::size_t shard, const std::atomic<bool>& stop) {
        auto& lane = lanes_[shard];
        const auto before = lane.done;
        while (!stop.load(std::memory_order_relaxed)) lane.turn(*this);
        return lane.done - before;
    }

private:
    static constexpr unsigned ipv4_gid = 3;  ///< RoCE v2, IPv4: after both kinds of the link-local one
    static constexpr auto rights = memory::Access::local_write | memory::Access::remote_write;

    /// What one thread uses: a queue pair at each end, and their completions.
    struct Lane {
        Lane(Ends& ends, unsigned number) : shard(number) {
            for (std::size_t end = 0; end < 2; ++end) {
                queues[end] = ends.devices_[end]->create_cq(1024);
                data[end].resize(batch * small);
                regions[end].emplace(must(ends.devices_[end]->register_memory(ends.pd_[end], data[end], rights)));
            }
            for (std::size_t end = 0; end < 2; ++end) pairs[end] = ends.make_pair(*this, end);
            for (std::size_t end = 0; end < 2; ++end) ends.connect(*this, end);
            for (std::size_t i = 0; i < batch; ++i) {
                segments[i] = {reinterpret_cast<std::uint64_t>(data[0].data() + i * small), small, regions[0]->lkey()};
                const bool signalled = i % signal_every == signal_every - 1;
                requests[i] = {.segments = {&segments[i], 1},
                               .operation = SendOperation::write,
                               .flags = static_cast<std::uint8_t>(signalled ? transport::send_signalled : 0),
                               .remote_address = reinterpret_cast<std::uint64_t>(data[1].data() + i * small),
                               .rkey = regions[1]->rkey()};
            }
        }

        void turn(Ends& ends) {
            if (posted - done <= depth - batch) {
                if (!pairs[0]->post(std::span<const SendRequest>(requests))) throw std::runtime_error("not accepted");
                posted += batch;
            }
            const auto now = monotonic_now();
            ends.devices_[0]->poll(shard, now);
            ends.devices_[1]->poll(shard, now);
            std::array<transport::Completion, 64> completions;
            const auto n = queues[0]->poll(completions);
            for (std::size_t i = 0; i < n; ++i) {
                if (completions[i].status != transport::Status::success) throw std::runtime_error("a WRITE failed");
            }
            done += n * signal_every;
        }

        unsigned shard;
        std::array<std::unique_ptr<transport::CompletionQueue>, 2> queues;
        std::array<std::vector<std::byte>, 2> data;
        std::array<std::optional<rdma::MemoryRegion>, 2> regions;
        std::array<std::unique_ptr<rdma::QueuePair>, 2> pairs;
        std::array<transport::Segment, batch> segments{};
        std::array<SendRequest, batch> requests{};
        std::uint64_t posted = 0, done = 0;
    };

    static rte_mempool* pool() {
        static rte_mempool* const made = bench::make_pool("rdma", 16383, RTE_PKTMBUF_HEADROOM + 2304);
        return made;
    }
    static wire::MacAddress mac(std::size_t end) {
        return {{std::byte{2}, {}, {}, {}, {}, static_cast<std::byte>(end + 1)}};
    }
    static link::FrameFlowHash::Key key() {
        link::FrameFlowHash::Key key;
        for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::uint8_t>(i * 73 + 19);
        return key;
    }

    void open(std::size_t end, std::unique_ptr<pmd::NetDevice> net, std::uint16_t shards) {
        nets_[end] = std::move(net);
        rdma::DeviceOptions options{.name = "end" + std::to_string(end),
                                    .device = nets_[end].get(),
                                    .queues = {},
                                    .pool = pool(),
                                    .mac = mac(end),
                                    .max_queue_pairs = 64,
                                    .start = monotonic_now()};
        for (std::uint16_t i = 0; i < shards; ++i) options.queues.push_back(i);
        devices_[end] = must(rdma::Device::create(options));
        devices_[end]->change_gids([&](link::GidTable& gids) {
            gids.add_interface(1, mac(end));
            gids.add_address(1, link::gid_of(wire::ipv4(10, 0, 0, static_cast<std::uint8_t>(end + 1))));
        });
        pd_[end] = devices_[end]->allocate_pd();
    }
    rdma::Path path_to(std::size_t end) {
        return {.gid_index = ipv4_gid,
                .address = {.global = true, .dgid = devices_[end]->gids().at(ipv4_gid)->gid, .hop_limit = 64},
                .mac = mac(end)};
    }
    /// B's is the one where A's packets arrive, if that is a matter of choice.
    std::unique_ptr<rdma::QueuePair> make_pair(const Lane& lane, std::size_t end) {
        return must(devices_[end]->create_queue_pair({.type = QueuePairType::rc,
                                                      .pd = pd_[end],
                                                      .send_completions = lane.queues[end].get(),
                                                      .receive_completions = lane.queues[end].get(),
                                                      .send = {.requests = 512, .segments = 1},
                                                      .receive = {.requests = 1, .segments = 1},
                                                      .shard = static_cast<int>(lane.shard)}));
    }
    void connect(const Lane& lane, std::size_t end) {
        auto& pair = *lane.pairs[end];
        const auto remote = lane.pairs[1 - end]->qpn();
        auto path = path_to(1 - end);
        path.address.flow_label = devices_[1 - end]->flow_label_for({path_to(end), pair.qpn()}, remote);
        must(pair.init({.access = rights}));
        must(pair.ready_to_receive(
            {.remote = remote, .path = path, .mtu = 1024, .first = wire::Psn(1), .selective_ack = true}));
        must(pair.ready_to_send({.first = wire::Psn(1)}));
    }

    link::FrameFlowHash hash_{key()};
    std::array<std::unique_ptr<pmd::NetDevice>, 2> nets_;
    std::array<std::unique_ptr<rdma::Device>, 2> devices_;
    std::array<memory::PdId, 2> pd_{};
    std::deque<Lane> lanes_;  // after the devices: queue pairs and regions go first
};

void measure(benchmark::State& state, Wiring wiring) {
    wiring.shards = static_cast<std::uint16_t>(state.range(0));
    Ends ends(wiring);
    bench::measure_beside(state, wiring.shards, "messages",
                          [&](std::size_t shard, const std::atomic<bool>& stop) { return ends.carry(shard, stop); });
}

/// Each shard has its queue, and all packets arrive where their queue pairs are.
void rdma_shards(benchmark::State& state) {
    measure(state, {});
}
/// Each packet arrives at another shard than its queue pair's.
void rdma_shards_handed_over(benchmark::State& state) {
    measure(state, {.shift = 1});
}
/// The first shard receives and transmits for all.
void rdma_shards_of_one_queue(benchmark::State& state) {
    measure(state, {.one_queue = true});
}

BENCHMARK(rdma_shards)->Arg(1)->Arg(2)->UseRealTime();
BENCHMARK(rdma_shards_handed_over)->Arg(1)->Arg(2)->UseRealTime();
BENCHMARK(rdma_shards_of_one_queue)->Arg(1)->Arg(2)->UseRealTime();

}  // namespace
}  // namespace verbline
