// SPDX-License-Identifier: BSD-3-Clause
// A device of one of several processes that share a port.
#include <algorithm>
#include <array>
#include <cerrno>
#include <set>

#include <gtest/gtest.h>

#include "datapath/rdma/datagrams.h"
#include "datapath/rdma/device.h"
#include "datapath/rdma/queue_pair.h"
#include "tests/support/fake_netdev.h"

namespace verbline::rdma {
namespace {

constexpr std::uint32_t few = 32;  ///< queue pairs, QP1's slot among them

DeviceOptions options(pmd::NetDevice& device, link::MemberId member) {
    return {.name = "member",
            .device = &device,
            .pool = test::packet_pool(),
            .max_queue_pairs = few,
            .first_slot = 77,  // the range decides
            .member = member};
}

struct MemberDevice : ::testing::TestWithParam<std::uint16_t> {
    test::FakeNetDevice port;
    const link::MemberId member{GetParam()};
};

TEST_P(MemberDevice, HasQueuePairNumbersOfItsRangeAlone) {
    const auto device = Device::create(options(port, member)).value();
    const auto pd = device->allocate_pd();
    const auto cq = device->create_cq(16);
    const auto make = [&] {
        return device->create_queue_pair({.type = transport::QueuePairType::rc,
                                          .pd = pd,
                                          .send_completions = cq.get(),
                                          .receive_completions = cq.get()});
    };
    std::set<wire::Qpn> seen;
    for (std::uint32_t i = 0; i < link::member_queue_pairs + few; ++i) {  // once round, and more
        const auto pair = make();
        ASSERT_TRUE(pair);
        ASSERT_EQ(link::member_of((*pair)->qpn()), member);
        seen.insert((*pair)->qpn());
    }
    EXPECT_GE(seen.size(), link::own_queue_pairs * 9 / 10);
    EXPECT_TRUE(std::ranges::none_of(seen, [this](wire::Qpn qpn) {
        return static_cast<std::uint32_t>(qpn) - link::first_qpn(member) >= link::own_queue_pairs;
    })) << "slots of shared targets";
    EXPECT_FALSE(seen.contains(wire::Qpn{0xff'ffff})) << "multicast";
    std::vector<std::unique_ptr<QueuePair>> all;
    while (auto pair = make()) all.push_back(std::move(*pair));
    EXPECT_EQ(all.size(), few - 1) << "as many as it may have, but QP1";
}

TEST_P(MemberDevice, ASharedTargetHasTheNumberOfTheNode) {
    const auto device = Device::create(options(port, member)).value();
    const auto domain = device->create_xrc_domain();
    const wire::Qpn number{link::own_queue_pairs + 5};
    const QueuePairOptions shared{
        .type = transport::QueuePairType::xrc_target, .xrc_domain = &domain, .shared_target = number};
    {
        const auto pair = device->create_queue_pair(shared);
        ASSERT_TRUE(pair);
        EXPECT_EQ((*pair)->qpn(), number);
        EXPECT_EQ(device->create_queue_pair(shared).error().code, EBUSY);
        EXPECT_TRUE(device->open_xrc_target(domain, number));
    }
    EXPECT_TRUE(device->create_queue_pair(shared)) << "and again";
    auto wrong = shared;
    wrong.shared_target = wire::Qpn{link::first_qpn(member) + 5};
    EXPECT_EQ(device->create_queue_pair(wrong).error().code, EINVAL);
}

TEST_P(MemberDevice, ItsXrcSharedReceiveQueuesHaveNumbersOfItsRange) {
    const auto device = Device::create(options(port, member)).value();
    const auto domain = device->create_xrc_domain();
    const auto pd = device->allocate_pd();
    const auto cq = device->create_cq(16);
    std::set<std::uint32_t> seen;
    for (int i = 0; i < 3; ++i) {
        const auto queue = device->create_shared_receive_queue(pd, {.requests = 1, .segments = 1}, &domain, cq.get());
        ASSERT_TRUE(queue);
        EXPECT_EQ(link::member_of(wire::Qpn{(*queue)->number()}), member);
        seen.insert((*queue)->number());
    }
    EXPECT_EQ(seen.size(), 3u);
}

// A frame of theirs has their own address within the node as its source. What was sent there would bypass the node's,
// and a direct link would take it for forged.
TEST_P(MemberDevice, OtherMembersAreAnsweredAtThePortsAddress) {
    auto wanted = options(port, member);
    wanted.mac = wire::MacAddress{{std::byte{2}, {}, {}, {}, {}, std::byte{9}}};
    const auto device = Device::create(wanted).value();
    const auto datagrams = Datagrams::create({.device = device.get()}).value();
    const std::array<std::byte, Datagrams::route_size> none{};
    const auto from = [&](const wire::MacAddress& mac) {
        return datagrams->source({.source = wire::Qpn{77}, .source_mac = mac}, none).value();
    };
    EXPECT_EQ(from(link::mac_of(link::MemberId{7})).path.mac, wanted.mac);
    EXPECT_EQ(from(link::mac_of(link::MemberId{7})).qpn, wire::Qpn{77});
    const wire::MacAddress elsewhere{{std::byte{2}, {}, {}, {}, {}, std::byte{8}}};
    EXPECT_EQ(from(elsewhere).path.mac, elsewhere);
}

INSTANTIATE_TEST_SUITE_P(, MemberDevice, ::testing::Values(1, 5, link::last_member));

TEST(MemberDeviceOptions, OneQueueAndNoMoreQueuePairsThanNumbers) {
    test::FakeNetDevice port;
    auto wrong = options(port, link::MemberId{1});
    wrong.max_queue_pairs = link::member_queue_pairs * 2;
    EXPECT_EQ(Device::create(wrong).error().code, EINVAL);
    wrong = options(port, link::MemberId{1});
    wrong.queues = {0, 1};
    EXPECT_EQ(Device::create(wrong).error().code, EINVAL);
}

}  // namespace
}  // namespace verbline::rdma
