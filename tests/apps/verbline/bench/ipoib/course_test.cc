// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/ipoib/course.h"

#include <cerrno>

#include <gtest/gtest.h>

#include "tests/support/fake_netdev.h"

namespace verbline::ipoib_bench {
namespace {

using link::Carrier;

/// Receives what it sends; on request it loses each third frame, or changes the last byte of an IP packet on Ethernet.
class Loop : public test::FakeNetDevice {
public:
    std::uint16_t tx_burst(std::uint16_t, pmd::Burst burst) noexcept override {
        for (auto* const frame : burst) {
            test::Packet packet(frame);
            if (losing && ++frames % 3 == 0) continue;
            if (damaging) *rte_pktmbuf_mtod_offset(frame, std::byte*, frame->data_len - 1) ^= std::byte{1};
            if (connected) to_receive.push_back(std::move(packet));
        }
        return static_cast<std::uint16_t>(burst.size());
    }

    bool losing = false, damaging = false, connected = true;
    unsigned frames = 0;
};

class IpoibCourse : public testing::Test {
protected:
    Result<Slice> run(LinkKind kind, const Case& one) {
        auto& pool = *test::packet_pool();
        const auto packets = Packets::make(one, 1500, pool).value();
        auto ends = make_ends(kind, loop, loop, pool);
        return Course(ends, packets, one, 32, pool).run(1, stop);
    }

    Loop loop;
    std::atomic<bool> stop{false};
};

TEST_F(IpoibCourse, AllThatIsSentArrivesIntactOnEveryLink) {
    for (const LinkKind kind : {LinkKind(), LinkKind(Carrier::soft_ib), LinkKind(Carrier::roce_v1),
                                LinkKind(Carrier::roce_v2_ipv4), LinkKind(Carrier::roce_v2_ipv6)}) {
        for (const std::uint32_t size : {28u, 1500u, 65535u}) {
            for (const bool requests : {false, true}) {
                const auto slice = run(kind, {.size = size, .requests = requests}).value();
                SCOPED_TRACE(testing::Message() << name_of(kind) << ' ' << size << ' ' << requests);
                EXPECT_EQ(slice.counts.sent, size == 65535 ? 2u * 45 : 2u * 32);  // a first burst, and one
                EXPECT_EQ(slice.counts.received, slice.counts.sent);
                EXPECT_EQ(slice.counts.damaged, 0u);
                EXPECT_GT(slice.send_cycles, 0);
                EXPECT_GT(slice.receive_cycles, 0);
                EXPECT_EQ(slice.send, requests ? Worker::software : Worker::nobody);
                EXPECT_EQ(slice.receive, requests ? Worker::software : Worker::nobody);
            }
        }
    }
}

TEST_F(IpoibCourse, ADeviceWorksForEthernetAlone) {
    loop.capabilities().tx_offloads = RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM;
    const auto ethernet = run({}, {.size = 64, .requests = true}).value();
    EXPECT_EQ(ethernet.send, Worker::device);
    EXPECT_EQ(ethernet.counts.damaged, ethernet.counts.sent) << "this device only says that it would";
    const auto ipoib = run(Carrier::soft_ib, {.size = 64, .requests = true}).value();
    EXPECT_EQ(ipoib.send, Worker::software);
    EXPECT_EQ(ipoib.counts.damaged, 0u);
}

TEST_F(IpoibCourse, LostAndDamagedPacketsAreCounted) {
    loop.losing = true;
    EXPECT_EQ(run({}, {.size = 64}).value().counts.received, 64u - 64 / 3);
    loop.losing = false, loop.damaging = true;
    const auto ethernet = run({}, {.size = 64}).value().counts;
    EXPECT_EQ(ethernet.received, 64u);
    EXPECT_EQ(ethernet.damaged, 32u) << "of complete packets the first burst is looked at";
    EXPECT_EQ(run({}, {.size = 64, .requests = true}).value().counts.damaged, 64u);
    EXPECT_EQ(run(Carrier::roce_v2_ipv4, {.size = 64}).error().code, ENODATA) << "the ICRC does not verify";
}

TEST_F(IpoibCourse, SaysThatNothingArrives) {
    loop.connected = false;
    const auto error = run({}, {.size = 64}).error();
    EXPECT_EQ(error.code, ENODATA);
    EXPECT_EQ(error.what, "nothing arrives at fake of what fake sends; connect them");
}

TEST_F(IpoibCourse, Stops) {
    stop = true;
    EXPECT_EQ(run({}, {.size = 64}).error().code, ECANCELED);
}

}  // namespace
}  // namespace verbline::ipoib_bench
