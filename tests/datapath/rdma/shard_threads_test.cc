// SPDX-License-Identifier: BSD-3-Clause
// Devices of several shards at both ends, a thread for each: what crosses between shards comes in order and whole, and
// no shard waits for another.
#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "datapath/link/envelope.h"
#include "tests/datapath/rdma/sharded_host.h"

namespace verbline::rdma::sharded {
namespace {

using transport::ReceiveRequest, transport::SendOperation, transport::SendRequest, transport::Status;

constexpr std::uint32_t slot = 2048;

/// SENDs of numbered messages from A to B, over a queue pair on each end.
class Stream {
public:
    static constexpr unsigned window = 8;

    /// `index`: its part of both memories, of `window` slots.
    Stream(Host& a, Host& b, std::size_t index, std::unique_ptr<QueuePair> at_a, std::unique_ptr<QueuePair> at_b)
        : a_(a), b_(b), base_(index * window * slot), at_a_(std::move(at_a)), at_b_(std::move(at_b)) {
        for (unsigned i = 0; i < window; ++i) give(i);
    }

    void send_up_to(std::uint32_t messages) {
        for (; sent_ < messages && sent_ - std::min(done_, received_) < window; ++sent_) {
            const auto at = base_ + sent_ % window * slot;
            std::memset(a_.memory.data() + at, static_cast<int>(sent_ * 7 + 1), length(sent_));
            std::memcpy(a_.memory.data() + at, &sent_, sizeof sent_);
            const auto segment = a_.segment(at, length(sent_));
            ASSERT_TRUE(at_a_->post(SendRequest{.segments = {&segment, 1}, .flags = transport::send_signalled}));
        }
    }
    void sent(const Completion& completion) {
        ASSERT_EQ(completion.status, Status::success) << text(completion.status);
        ++done_;
    }
    void received(const Completion& completion) {
        ASSERT_EQ(completion.status, Status::success) << text(completion.status);
        const auto* const bytes = b_.memory.data() + base_ + completion.id * slot;
        std::uint32_t number = 0;
        std::memcpy(&number, bytes, sizeof number);
        ASSERT_EQ(number, received_) << "queue pair " << static_cast<std::uint32_t>(at_b_->qpn()) << " out of order";
        ASSERT_EQ(completion.length, length(number));
        const auto value = static_cast<std::byte>(number * 7 + 1);
        ASSERT_TRUE(std::all_of(bytes + sizeof number, bytes + length(number), [=](auto b) { return b == value; }));
        give(static_cast<unsigned>(completion.id));
        ++received_;
    }

    QueuePair& at_a() const { return *at_a_; }
    QueuePair& at_b() const { return *at_b_; }
    std::uint32_t received() const { return received_; }
    std::uint32_t done() const { return done_; }

private:
    /// One packet, or two.
    static std::uint32_t length(std::uint32_t number) { return 64 + number * 131 % (slot - 64); }
    void give(unsigned place) {
        const auto segment = b_.segment(base_ + place * slot, slot);
        ASSERT_TRUE(at_b_->post(ReceiveRequest{.id = place, .segments = {&segment, 1}}));
    }

    Host &a_, &b_;
    std::size_t base_;
    std::unique_ptr<QueuePair> at_a_, at_b_;
    std::uint32_t sent_ = 0, done_ = 0, received_ = 0;
};

class ShardThreads : public TwoHosts {
protected:
    ~ShardThreads() override { a.stop(), b.stop(); }  // before the queue pairs go

    /// Queue pairs of all combinations of shards; if `steered`, B's where A's packets arrive.
    void make_streams(QueuePairType type, std::size_t count, bool steered = false) {
        for (std::size_t i = 0; i < count; ++i) {
            auto at_a = a.options(type), at_b = b.options(type);
            at_a.shard = static_cast<int>(i % 2), at_b.shard = static_cast<int>(i / 2 % 2);
            auto pair_a = a.make(at_a);
            if (steered) at_b.shard = -1, at_b.peer = ExpectedPeer{b.path_to(a), pair_a->qpn()};
            auto pair_b = b.make(at_b);
            auto &made_a = *pair_a, &made_b = *pair_b;
            ASSERT_TRUE(made_b.init({.access = rights, .qkey = qkey}));
            auto path_to_a = b.path_to(a);
            if (steered) {
                path_to_a.address.flow_label = a.device->flow_label_for({a.path_to(b), made_b.qpn()}, made_a.qpn());
            }
            streams.emplace_back(a, b, i, std::move(pair_a), std::move(pair_b));
            connect(made_a, a.path_to(b), made_b.qpn());
            connect(made_b, path_to_a, made_a.qpn());
        }
    }
    Stream* stream_of(wire::Qpn qpn, bool at_a) {
        const auto found = std::ranges::find_if(
            streams, [=](const auto& each) { return (at_a ? each.at_a() : each.at_b()).qpn() == qpn; });
        return found == streams.end() ? nullptr : &*found;
    }
    /// What is of no stream belongs to the test.
    void take() {
        for (const auto& each : completed(*a.sent)) {
            if (auto* const stream = stream_of(each.qpn, true)) stream->sent(each);
        }
        for (const auto& each : completed(*b.received)) {
            if (auto* const stream = stream_of(each.qpn, false)) stream->received(each);
        }
    }
    /// Runs the streams that `which` selects until each has carried so many messages.
    template <class Which>
    [[nodiscard]] bool carry(std::uint32_t messages, Which which) {
        return wait_until([&] {
            take();
            bool all = true;
            for (auto& stream : streams) {
                if (!which(stream)) continue;
                stream.send_up_to(messages);
                all = all && stream.received() == messages && stream.done() == messages;
            }
            return all || HasFatalFailure();
        });
    }
    [[nodiscard]] bool carry(std::uint32_t messages) {
        return carry(messages, [](const Stream&) { return true; });
    }

    std::deque<Stream> streams;
};

TEST_F(ShardThreads, KeepTheOrderOfEachQueuePair) {
    make_streams(QueuePairType::rc, 8);
    start();
    ASSERT_TRUE(carry(500));
    EXPECT_GT(b.counter("rx_handed_over"), 0u) << "the hash and the shard are unrelated";
    EXPECT_GT(b.counter(0, "rx_packets"), 0u);
    EXPECT_GT(b.counter(1, "rx_packets"), 0u);
}

TEST_F(ShardThreads, CarryUnreliableMessagesToo) {
    make_streams(QueuePairType::uc, 8);
    start();
    ASSERT_TRUE(carry(300));
}

TEST_F(ShardThreads, AreChosenSoThatNothingIsHandedOver) {
    make_streams(QueuePairType::rc, 8, true);
    start();
    ASSERT_TRUE(carry(200));
    EXPECT_EQ(b.counter("rx_handed_over"), 0u) << "requests, by B's QPN";
    EXPECT_EQ(a.counter("rx_handed_over"), 0u) << "answers, by the flow label";
}

TEST_F(ShardThreads, ThatStandStillStopNoOther) {
    make_streams(QueuePairType::rc, 8, true);
    for (auto& stream : streams) stream.at_a().set_retries({.timeout = 20});  // peers do not give up meanwhile: 34 s
    start();
    const auto of_first = [&](const Stream& stream) { return b.device->shard_of(stream.at_b().qpn()) == 0; };
    b.paused[1] = true;
    for (auto& stream : streams) stream.send_up_to(4);
    ASSERT_TRUE(carry(300, of_first));
    b.paused[1] = false;
    ASSERT_TRUE(carry(300));
}

TEST_F(ShardThreads, LoseAQueuePairWhileItsPacketsCome) {
    make_streams(QueuePairType::rc, 4);
    start();
    for (std::uint32_t round = 1; round <= 20; ++round) {
        auto at_a = a.options(QueuePairType::rc), at_b = b.options(QueuePairType::rc);
        at_a.shard = static_cast<int>(round % 2), at_b.shard = static_cast<int>(round / 2 % 2);
        auto pair_a = a.make(at_a), pair_b = b.make(at_b);
        connect(*pair_a, *pair_b);
        const auto base = streams.size() * Stream::window * slot;
        const auto segment = a.segment(base, slot);
        const SendRequest write{.segments = {&segment, 1},
                                .operation = SendOperation::write,
                                .remote_address = b.segment(base, slot).address,
                                .rkey = b.region->rkey()};
        for (int i = 0; i < 32; ++i) ASSERT_TRUE(pair_a->post(write));
        ASSERT_TRUE(carry(round * 10));
        (round % 3 == 0 ? pair_a : pair_b).reset();  // the other still sends, or answers
    }
}

TEST_F(ShardThreads, AllReceiveMulticast) {
    const auto group = link::gid_of(wire::ipv4(239, 1, 2, 3));
    std::vector<std::unique_ptr<QueuePair>> members;
    std::map<wire::Qpn, std::uint32_t> came;
    const auto give = [&](QueuePair& member, std::size_t place) {
        const auto segment = b.segment(place * slot, slot);
        ASSERT_TRUE(member.post(ReceiveRequest{.id = place, .segments = {&segment, 1}}));
    };
    for (std::size_t i = 0; i < 4; ++i) {
        auto options = b.options(QueuePairType::ud);
        options.shard = static_cast<int>(i % 2);
        auto& member = *members.emplace_back(b.make(options));
        connect(member, b.path_to(a), wire::Qpn{});
        ASSERT_TRUE(member.attach(group));
        give(member, i);
    }
    auto sender = a.make(a.options(QueuePairType::ud));
    connect(*sender, a.path_to(b), wire::Qpn{});
    auto path = a.path_to(b);
    path.address.dgid = group;
    path.mac = link::multicast_mac(link::Carrier::roce_v2_ipv4, group);
    const auto envelope = a.device->envelope(path, sender->qpn(), wire::multicast_qpn).value();
    start();
    constexpr std::uint32_t datagrams = 200;
    for (std::uint32_t n = 0; n < datagrams; ++n) {
        std::memcpy(a.memory.data(), &n, sizeof n);
        const auto segment = a.segment(0, 64);
        ASSERT_TRUE(sender->post(SendRequest{.segments = {&segment, 1},
                                             .ud = {.envelope = &envelope, .qpn = wire::multicast_qpn, .qkey = qkey}}));
        ASSERT_TRUE(wait_until([&] {
            for (const auto& each : completed(*b.received)) {
                constexpr std::size_t route_header = 40;
                std::uint32_t number = 0;
                std::memcpy(&number, b.memory.data() + each.id * slot + route_header, sizeof number);
                EXPECT_EQ(number, n);
                ++came[each.qpn];
                give(*members[each.id], each.id);
            }
            return std::ranges::all_of(members, [&](const auto& each) { return came[each->qpn()] == n + 1; });
        })) << "datagram "
            << n;
    }
    EXPECT_EQ(b.counter("rx_packets"), datagrams) << "each counts once, on whichever shard it came in";
    EXPECT_EQ(b.counter("rx_handed_over"), datagrams);
    b.stop(), a.stop();
}

}  // namespace
}  // namespace verbline::rdma::sharded
