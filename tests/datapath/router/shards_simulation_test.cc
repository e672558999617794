// SPDX-License-Identifier: BSD-3-Clause
// Several shards, of which now one and now another has its turn, or stands still, while neighbours come and go and a
// device takes nothing for a while: flows keep their order, and every packet arrives or is counted.
#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <vector>

#include <rte_mempool.h>

#include <gtest/gtest.h>

#include "datapath/wire/bytes.h"
#include "pmd/rss/handover_ring.h"
#include "tests/datapath/router/many_shards.h"

namespace verbline::router {
namespace {

using namespace two_ports;

constexpr std::size_t flow_at = Ipv4::size;     ///< the ports of a UDP packet
constexpr std::size_t number_at = flow_at + 8;  ///< behind its header
constexpr unsigned flow_count = 8 * ManyShards::hosts;

unsigned mbufs_in_use() {
    return rte_mempool_in_use_count(test::packet_pool());
}

/// Flows from Alice to the hosts on the right, whose packets have numbers.
class Flows {
public:
    explicit Flows(ManyShards& router) : router_(router), flows_(flow_count) {}

    static unsigned host_of(unsigned flow) { return flow % ManyShards::hosts; }
    static ByteVector frame(unsigned flow, std::uint32_t number) {
        auto packet = ip_packet(alice, ManyShards::host(host_of(flow)));
        wire::store32(packet, flow_at, flow);
        wire::store32(packet, number_at, number);
        return in_ethernet(left_mac, packet);
    }
    void send(unsigned flow) { router_.left->receive(frame(flow, ++flows_[flow].sent)); }

    /// Looks at what the right device has sent since the last call.
    void take() {
        for (const auto& sent : router_.right->sent) {
            const auto bytes = bytes_of(sent);
            const auto flow = wire::load32(wire::Bytes(bytes), Ethernet::size + flow_at);
            const auto number = wire::load32(wire::Bytes(bytes), Ethernet::size + number_at);
            ASSERT_LT(flow, flow_count);
            ASSERT_GT(number, flows_[flow].last) << "flow " << flow << " is out of order";
            flows_[flow].last = number;
            ++flows_[flow].came;
            wire::MacAddress to;
            std::copy_n(bytes.begin(), to.bytes.size(), to.bytes.begin());
            ASSERT_EQ(to, ManyShards::host_mac(host_of(flow))) << "flow " << flow;
        }
        router_.right->sent.clear();
    }

    std::uint32_t sent(unsigned flow) const { return flows_[flow].sent; }
    std::uint32_t came(unsigned flow) const { return flows_[flow].came; }
    std::uint64_t lost() const {
        std::uint64_t sum = 0;
        for (const auto& flow : flows_) sum += flow.sent - flow.came;
        return sum;
    }

private:
    struct Flow {
        std::uint32_t sent = 0, last = 0, came = 0;
    };
    ManyShards& router_;
    std::vector<Flow> flows_;
};

/// The control thread's neighbours: found some time after a shard has asked, or not at all; forgotten now and then.
class Control {
public:
    Control(ManyShards& router, std::mt19937& random) : router_(router), random_(random) {}

    void turn() {
        for (std::size_t shard = 0; shard < router_.size(); ++shard) {
            while (const auto event = router_.event(shard)) {
                if (const auto* unresolved = std::get_if<Unresolved>(&*event)) ask(unresolved->address);
            }
        }
        for (auto asked = asked_.begin(); asked != asked_.end();) {
            if (asked->second > router_.now) {
                ++asked;
                continue;
            }
            answer(asked->first);
            asked = asked_.erase(asked);
        }
    }
    void forget(unsigned host) {
        known_.erase(host);
        router_.tell(ForgetNeighbour{right, link::gid_of(ManyShards::host(host))});
    }
    bool all_answer = false;  ///< from now on

private:
    void ask(const wire::Gid& address) {
        for (unsigned host = 0; host < ManyShards::hosts; ++host) {
            if (link::gid_of(ManyShards::host(host)) != address) continue;
            if (known_.contains(host)) return router_.set_neighbour(host);  // some shard had not heard it yet
            asked_.emplace(host, router_.now + static_cast<Time>(random_() % 20) * millisecond);
        }
    }
    void answer(unsigned host) {
        if (!all_answer && random_() % 4 == 0) {
            return router_.tell(FailNeighbour{right, link::gid_of(ManyShards::host(host))});
        }
        known_[host] = true;
        router_.set_neighbour(host);
    }

    ManyShards& router_;
    std::mt19937& random_;
    std::map<unsigned, bool> known_;
    std::map<unsigned, Time> asked_;  ///< host, and when it answers
};

class ShardsSimulation : public testing::TestWithParam<unsigned> {
protected:
    unsigned chosen(std::size_t among) { return static_cast<unsigned>(random_() % among); }

    /// One thing happens.
    void step() {
        router_.now += static_cast<Time>(random_() % 100) * microsecond;
        switch (chosen(16)) {
            case 0:
                if (chosen(40) == 0) stalled_until_[chosen(router_.size())] = router_.now + chosen(30) * millisecond;
                break;
            case 1: router_.right->tx_room = chosen(3) == 0 ? chosen(4) : unlimited; break;
            case 2: control_.turn(); break;
            case 3:
                if (chosen(20) == 0) control_.forget(chosen(ManyShards::hosts));
                break;
            case 4:
            case 5:
            case 6:
                if (mbufs_in_use() > test::Eal::pool_size / 2) break;  // all that waits for a stalled shard is here
                for (auto n = chosen(12); n > 0; --n) flows_.send(chosen(flow_count));
                break;
            default: {
                const auto shard = chosen(router_.size());
                if (stalled_until_[shard] <= router_.now) router_.poll(shard);
            }
        }
    }
    /// Everyone has their turn until nothing is left to do.
    void settle() {
        router_.right->tx_room = unlimited;
        control_.all_answer = true;
        for (int round = 0; round < 300; ++round) {
            router_.now += millisecond;
            control_.turn();
            for (std::size_t shard = 0; shard < router_.size(); ++shard) router_.poll(shard);
        }
    }

    static constexpr auto unlimited = std::numeric_limits<std::size_t>::max();

    std::mt19937 random_{GetParam()};
    const std::uint16_t count_ = static_cast<std::uint16_t>(2 + GetParam() % 3);
    const unsigned in_use_ = mbufs_in_use();
    ManyShards router_{count_, static_cast<std::uint16_t>(chosen(count_)), static_cast<std::uint16_t>(chosen(count_))};
    Flows flows_{router_};
    Control control_{router_, random_};
    std::vector<Time> stalled_until_ = std::vector<Time>(count_);
};

TEST_P(ShardsSimulation, FlowsKeepTheirOrderAndEveryPacketIsAccountedFor) {
    for (int i = 0; i < 5'000; ++i) {
        step();
        ASSERT_NO_FATAL_FAILURE(flows_.take()) << "step " << i;
    }
    settle();
    ASSERT_NO_FATAL_FAILURE(flows_.take());
    EXPECT_EQ(flows_.lost(), router_.dropped()) << "each lost packet has its counter";
    EXPECT_EQ(mbufs_in_use(), in_use_);

    // All shards know the same neighbours: whoever is asked for is known to all, once it has answered.
    for (unsigned flow = 0; flow < flow_count; ++flow) flows_.send(flow);
    settle();
    ASSERT_NO_FATAL_FAILURE(flows_.take());
    const auto lost = flows_.lost();
    for (unsigned flow = 0; flow < flow_count; ++flow) flows_.send(flow);
    for (int round = 0; round < 20; ++round) {
        for (std::size_t shard = 0; shard < router_.size(); ++shard) router_.poll(shard);
    }
    ASSERT_NO_FATAL_FAILURE(flows_.take());
    EXPECT_EQ(flows_.lost(), lost) << "nothing waits for a neighbour";
    EXPECT_EQ(mbufs_in_use(), in_use_);
}

INSTANTIATE_TEST_SUITE_P(Seeds, ShardsSimulation, testing::Range(0u, 40u));

/// Three shards, of which one stands still.
class StalledShard : public testing::Test {
protected:
    static constexpr std::uint16_t stalled = 2;
    static constexpr unsigned rounds = 400;

    /// `owner`: of both devices.
    void begin(std::uint16_t owner) {
        router_.emplace(std::uint16_t{3}, owner, owner);
        flows_.emplace(*router_);
        for (unsigned host = 0; host < ManyShards::hosts; ++host) router_->set_neighbour(host);
        for (int i = 0; i < 4; ++i) poll({0, 1, 2});
        in_use_ = mbufs_in_use();
    }
    void poll(std::initializer_list<std::size_t> shards) {
        router_->now += millisecond;
        for (const auto shard : shards) router_->poll(shard);
    }
    bool is_stalled(unsigned flow) const { return router_->shard_of(Flows::frame(flow, 0)) == stalled; }

    std::optional<ManyShards> router_;
    std::optional<Flows> flows_;
    unsigned in_use_ = 0;
};

TEST_F(StalledShard, LosesItsOwnFlowsAlone) {
    begin(0);
    for (unsigned round = 0; round < rounds; ++round) {
        for (unsigned flow = 0; flow < flow_count; ++flow) flows_->send(flow);
        poll({0, 1}), poll({0, 1});
        ASSERT_NO_FATAL_FAILURE(flows_->take());
        ASSERT_LE(mbufs_in_use(), in_use_ + pmd::HandoverRing::capacity + 2 * pmd::max_burst) << "memory is bounded";
    }
    for (int i = 0; i < 4; ++i) poll({0, 1});
    ASSERT_NO_FATAL_FAILURE(flows_->take());
    unsigned stalled_flows = 0;
    for (unsigned flow = 0; flow < flow_count; ++flow) {
        stalled_flows += is_stalled(flow) ? 1 : 0;
        EXPECT_EQ(flows_->came(flow), is_stalled(flow) ? 0 : flows_->sent(flow)) << "flow " << flow;
    }
    ASSERT_GT(stalled_flows, 0u);
    ASSERT_LT(stalled_flows, flow_count);
    const auto dropped = test::counter(*router_->left_device, "rx_dropped_handover_full");
    EXPECT_EQ(dropped, stalled_flows * rounds - pmd::HandoverRing::capacity);

    for (unsigned i = 0; i < 100; ++i) poll({0, 1, 2});
    ASSERT_NO_FATAL_FAILURE(flows_->take()) << "it goes on, in order";
    EXPECT_EQ(flows_->lost(), dropped);
    EXPECT_EQ(router_->dropped(), dropped);
    EXPECT_EQ(mbufs_in_use(), in_use_);
}

/// The one that stands still is the one that receives and transmits for all: then nothing moves, and nothing grows.
TEST_F(StalledShard, HoldsUpTheDevicesThatItServes) {
    begin(stalled);
    for (unsigned flow = 0; flow < flow_count; ++flow) flows_->send(flow);
    const auto waiting = mbufs_in_use();
    for (unsigned round = 0; round < rounds; ++round) poll({0, 1});
    ASSERT_NO_FATAL_FAILURE(flows_->take());
    for (unsigned flow = 0; flow < flow_count; ++flow) EXPECT_EQ(flows_->came(flow), 0u);
    EXPECT_EQ(mbufs_in_use(), waiting);

    for (unsigned i = 0; i < 100; ++i) poll({0, 1, 2});
    ASSERT_NO_FATAL_FAILURE(flows_->take());
    EXPECT_EQ(flows_->lost(), 0u);
    EXPECT_EQ(mbufs_in_use(), in_use_);
}

}  // namespace
}  // namespace verbline::router
