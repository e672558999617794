// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/rdma/messages.h"

#include <gtest/gtest.h>

namespace verbline::rdma_bench {
namespace {

TestSpec good_spec() {
    return {.operation = Operation::send,
            .transport = Transport::xrc,
            .measure = Measure::bandwidth,
            .bidirectional = true,
            .pairs = 3,
            .tx_depth = 64,
            .rx_depth = 128,
            .post_list = 4,
            .inline_bytes = 64,
            .reads = 7,
            .mtu = 2048,
            .largest = 100'000};
}

TEST(RdmaBenchMessages, HelloCarriesTheWholeTest) {
    auto hello = Hello::of(good_spec());
    hello.rkey = wire::RKey{0x12345678}, hello.address = 0x1122334455667788, hello.srq = 9;
    const auto read = read_payload<Hello>(payload_of(hello));
    EXPECT_EQ(read, hello);
    EXPECT_EQ(read.spec(), good_spec());
}

TEST(RdmaBenchMessages, HelloOutOfBoundsIsNoTest) {
    const auto refused = [](auto&& change) {
        auto hello = Hello::of(good_spec());
        change(hello);
        return !hello.spec();
    };
    EXPECT_FALSE(refused([](auto&) {}));
    EXPECT_TRUE(refused([](auto& h) { h.operation = Operation{5}; }));
    EXPECT_TRUE(refused([](auto& h) { h.transport = Transport{4}; }));
    EXPECT_TRUE(refused([](auto& h) { h.pairs = 0; }));
    EXPECT_TRUE(refused([](auto& h) { h.pairs = most_pairs + 1; }));
    EXPECT_TRUE(refused([](auto& h) { h.tx_depth = 0; }));
    EXPECT_TRUE(refused([](auto& h) { h.post_list = h.tx_depth + 1; }));
    EXPECT_TRUE(refused([](auto& h) { h.mtu = 1500; }));
    EXPECT_TRUE(refused([](auto& h) { h.largest = largest_message + 1; }));
    EXPECT_TRUE(refused([](auto& h) { h.largest = 0; }));
    EXPECT_TRUE(refused([](auto& h) { h.pairs = 33, h.rx_depth = deepest_queue; }));
    EXPECT_TRUE(refused([](auto& h) { h.pairs = 1000, h.largest = largest_message; }));
}

TEST(RdmaBenchMessages, TransportsHaveTheirOperationsOnly) {
    const auto known = [](Transport transport, Operation operation, std::uint32_t largest = 8) {
        auto spec = good_spec();
        spec.transport = transport, spec.operation = operation, spec.largest = largest;
        return Hello::of(spec).spec().has_value();
    };
    EXPECT_TRUE(known(Transport::ud, Operation::send));
    EXPECT_TRUE(known(Transport::ud, Operation::send, 2048));
    EXPECT_FALSE(known(Transport::ud, Operation::send, 2049));
    EXPECT_FALSE(known(Transport::ud, Operation::write));
    EXPECT_TRUE(known(Transport::uc, Operation::write));
    EXPECT_FALSE(known(Transport::uc, Operation::read));
    EXPECT_TRUE(known(Transport::rc, Operation::fetch_add));
    EXPECT_FALSE(known(Transport::rc, Operation::fetch_add, 16));
}

TEST(RdmaBenchMessages, BeginIsByNumberOrByTime) {
    const auto spec = good_spec();
    const Round round{.index = 2, .size = 100, .iterations = 1000, .cq_moderation = 61};
    EXPECT_EQ(read_payload<Begin>(payload_of(Begin::of(round))).round(spec), round);
    const auto refused = [&](auto&& change) {
        auto begin = Begin::of(round);
        change(begin);
        return !begin.round(spec);
    };
    EXPECT_FALSE(refused([](auto& b) { b.iterations = 0, b.duration = 1; }));
    EXPECT_TRUE(refused([](auto& b) { b.duration = 1; }));
    EXPECT_TRUE(refused([](auto& b) { b.iterations = 0; }));
    EXPECT_TRUE(refused([](auto& b) { b.bytes = 100'001; }));
    EXPECT_TRUE(refused([](auto& b) { b.bytes = 0; }));
    EXPECT_TRUE(refused([](auto& b) { b.index = most_rounds; }));
    // A completion every 62 messages of 64 would leave no room for a list of four.
    EXPECT_TRUE(refused([](auto& b) { b.cq_moderation = 62; }));
}

TEST(RdmaBenchMessages, AccountAndNumbersKeepTheirPlaces) {
    const Account account{1, 0, 2, 3, 4, 5, 6, 7, 8};
    EXPECT_EQ(read_payload<Account>(payload_of(account)), account);
    const PairNumbers numbers{
        .sends = wire::Qpn{0xabcdef}, .receives = wire::Qpn{0x123456}, .first = wire::Psn(0x654321)};
    EXPECT_EQ(read_payload<PairNumbers>(payload_of(numbers)), numbers);
    const Welcome welcome{.refusal = 1, .mtu = 2, .rkey = wire::RKey{3}, .address = 4, .srq = 5};
    EXPECT_EQ(read_payload<Welcome>(payload_of(welcome)), welcome);
}

}  // namespace
}  // namespace verbline::rdma_bench
