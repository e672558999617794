// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/port/xrc_sharing.h"

#include <array>
#include <cerrno>
#include <future>
#include <memory>
#include <mutex>
#include <span>
#include <tuple>
#include <vector>

#include <fcntl.h>
#include <poll.h>

#include <gtest/gtest.h>

#include "control/hub/protocol.h"
#include "datapath/link/ip_gid.h"
#include "tests/apps/libibverbs/port/played_server.h"
#include "tests/support/fake_netdev.h"

namespace verbline::verbs {
namespace {

using hub::XrcTarget, hub::XrcTargetState;
using transport::QueuePairState;

constexpr link::MemberId member{5};
constexpr wire::Qpn number{link::own_queue_pairs + 7}, other_number{link::own_queue_pairs + 8};
constexpr hub::XrcDomainId domain_id{3};

/// The test is the node; its answers are there before the questions.
struct XrcSharingTest : ::testing::Test {
    XrcSharingTest() {
        link.lane.member = member;
        device = rdma::Device::create({.name = "sharing",
                                       .device = &port,
                                       .pool = test::packet_pool(),
                                       .mac = mac,
                                       .max_queue_pairs = link::member_queue_pairs,
                                       .member = member})
                     .value();
        device->change_gids([&](link::GidTable& gids) {
            gids.add_interface(1, mac);
            gids.set_addresses(1, std::vector{own_gid});
        });
        sharing.use(*device);
    }
    SharedDomain open_domain() {
        node.say(hub::XrcDomainOpened{domain_id});
        return sharing.open_domain(0, {.create = true}).value();
    }
    std::unique_ptr<rdma::QueuePair> create(const SharedDomain& domain) {
        node.say(hub::XrcTargetMade{number});
        return sharing.create(domain).value();
    }
    XrcTarget ready(wire::Qpn target, XrcTargetState state = XrcTargetState::rts) const {
        return {.domain = domain_id,
                .qpn = target,
                .change = ++changes,
                .state = state,
                .peer = wire::Qpn{77},
                .mtu = 1024,
                .max_reads = 4,
                .source = own_gid,
                .to = {.global = true, .dgid = link::gid_of(wire::ipv4(10, 8, 0, 2))},
                .mac = {{std::byte{2}, {}, {}, {}, {}, std::byte{9}}}};
    }
    /// Answers the next message, once it is there, and returns what has come.
    std::vector<hub::Message> answer_next(const hub::Message& answer) const {
        pollfd question{.fd = node.descriptor(), .events = POLLIN, .revents = 0};
        EXPECT_EQ(poll(&question, 1, 10'000), 1);
        auto messages = node.heard();
        node.say(answer);
        return messages;
    }
    /// A handle of another's target, opened after the node has told of it.
    std::unique_ptr<rdma::QueuePair> open(const SharedDomain& domain, const XrcTarget& target) {
        node.say(target);
        node.say(hub::Done{});
        return sharing.open(domain, target.qpn).value();
    }

    const int eal = (test::packet_pool(), 0);
    const wire::MacAddress mac{{std::byte{2}, {}, {}, {}, {}, std::byte{1}}};
    const wire::Gid own_gid = link::gid_of(wire::ipv4(10, 8, 0, 1));
    mutable std::uint32_t changes = 0;
    test::FakeNetDevice port;
    OpenedLink link;
    test::PlayedServer node{link.lane};
    std::mutex mutex;
    std::unique_ptr<rdma::Device> device;
    std::vector<transport::AsyncEvent> events;
    XrcSharing sharing{link, mutex, [this](const transport::AsyncEvent& event) { events.push_back(event); }};
};

TEST_F(XrcSharingTest, ATargetHasTheNumberThatTheNodeGives) {
    EXPECT_TRUE(sharing.available());
    const auto domain = open_domain();
    const auto handle = create(domain);
    EXPECT_EQ(handle->qpn(), number);
    EXPECT_EQ(handle->state(), QueuePairState::reset);
    const auto said = node.heard();
    ASSERT_EQ(said.size(), 2u);
    EXPECT_EQ(said[0], hub::Message(hub::OpenXrcDomain{.create = true}));
    EXPECT_EQ(said[1], hub::Message(hub::CreateXrcTarget{domain_id}));
}

TEST_F(XrcSharingTest, AChangeTakesPlaceHereAndIsTold) {
    const auto domain = open_domain();
    const auto handle = create(domain);
    node.heard();
    for (const auto state : {XrcTargetState::init, XrcTargetState::rtr, XrcTargetState::rts, XrcTargetState::error,
                             XrcTargetState::reset}) {
        const auto wanted = ready(number, state);
        auto question = std::async(std::launch::async, [this] { return answer_next(hub::Done{}); });
        EXPECT_TRUE(sharing.change(domain, wanted));
        EXPECT_EQ(question.get(), std::vector<hub::Message>{wanted});
        EXPECT_EQ(sharing.find(number), wanted);
    }
    EXPECT_TRUE(events.empty()) << "the program has asked for them";
    auto stranger = ready(number);
    stranger.source = link::gid_of(wire::ipv4(10, 8, 0, 77));
    EXPECT_EQ(sharing.change(domain, stranger).error().code, EINVAL);
    EXPECT_TRUE(node.heard().empty());
}

TEST_F(XrcSharingTest, TargetsOfOthersAreMadeAsTheyAre) {
    const auto domain = open_domain();
    node.heard();
    const auto target = ready(other_number, XrcTargetState::rtr);
    node.say(target);
    sharing.follow();
    EXPECT_EQ(node.heard(), std::vector<hub::Message>{(hub::XrcTargetTaken{other_number, target.change})});
    const auto handle = device->open_xrc_target(domain.native, other_number).value();
    EXPECT_EQ(handle->state(), QueuePairState::rtr);
    node.say(ready(other_number, XrcTargetState::rts));
    node.say(XrcTarget{.domain = hub::XrcDomainId{99}, .qpn = number});
    sharing.follow();
    EXPECT_EQ(handle->state(), QueuePairState::rts);
    EXPECT_FALSE(sharing.find(number)) << "of a domain that is not open here";
}

TEST_F(XrcSharingTest, WhoOpensOneWaitsUntilTheNodeHasToldOfIt) {
    const auto domain = open_domain();
    const auto handle = open(domain, ready(other_number));
    EXPECT_EQ(handle->qpn(), other_number);
    EXPECT_EQ(handle->state(), QueuePairState::rts);
    node.say(hub::Refused{EINVAL, "there is no XRC target of this number in the domain"});
    EXPECT_EQ(sharing.open(domain, number).error().code, EINVAL);
}

TEST_F(XrcSharingTest, AFailureElsewhereIsAnEventHere) {
    const auto domain = open_domain();
    const auto handle = open(domain, ready(other_number));
    auto failed = ready(other_number, XrcTargetState::error);
    failed.failure = wire::NakCode::remote_access;
    node.say(failed);
    node.say(failed);  // told once more, it is none
    sharing.follow();
    EXPECT_EQ(handle->state(), QueuePairState::error);
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].kind, transport::AsyncEventKind::qp_access_error);
    EXPECT_EQ(events[0].qpn, other_number);
}

TEST_F(XrcSharingTest, ATargetThatIsGoneFreesItsNumber) {
    const auto domain = open_domain();
    node.say(ready(other_number));
    sharing.follow();
    node.say(ready(other_number, XrcTargetState::gone));
    sharing.follow();
    EXPECT_FALSE(sharing.find(other_number));
    EXPECT_FALSE(device->open_xrc_target(domain.native, other_number));
    node.say(ready(other_number));
    sharing.follow();
    EXPECT_TRUE(device->open_xrc_target(domain.native, other_number)) << "another one";
}

TEST_F(XrcSharingTest, WithTheDomainItsTargetsAreGone) {
    const auto domain = open_domain();
    node.say(ready(other_number));
    sharing.follow();
    node.say(hub::Done{});
    sharing.close_domain(domain);
    EXPECT_FALSE(sharing.find(other_number));
    EXPECT_EQ(node.heard().back(), hub::Message(hub::CloseXrcDomain{domain_id}));
}

TEST_F(XrcSharingTest, ANodeThatWasRestartedKnowsOfNothing) {
    const auto domain = open_domain();
    const auto handle = open(domain, ready(other_number));
    node.heard();
    {
        const std::scoped_lock lock(mutex);
        sharing.forget();
    }
    EXPECT_EQ(handle->state(), QueuePairState::error);
    EXPECT_EQ(sharing.create(domain).error().code, EIO);
    EXPECT_EQ(sharing.change(domain, ready(other_number)).error().code, EIO);
    sharing.close(domain, other_number);
    sharing.close_domain(domain);
    EXPECT_TRUE(node.heard().empty()) << "nothing that would close another's of the same number";
    EXPECT_EQ(open_domain().epoch, domain.epoch + 1);
}

}  // namespace
}  // namespace verbline::verbs
