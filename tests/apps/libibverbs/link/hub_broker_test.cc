// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/link/hub_broker.h"

#include <array>
#include <cerrno>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "control/hub/protocol.h"
#include "pmd/base/descriptor_message.h"
#include "tests/support/unix_socket.h"

namespace verbline::verbs {
namespace {

using Kind = pmd::DirectNews::Kind;

constexpr wire::MacAddress peer{{std::byte{6}, std::byte{0x76}, {}, {}, {}, std::byte{2}}};

/// The test is the hub.
struct HubBrokerTest : ::testing::Test {
    HubBrokerTest() { std::tie(link.lane.control, hub) = test::socket_pair(); }
    void say(const hub::Message& message, const FileDescriptor& descriptor = {}) const {
        EXPECT_GT(send_with_descriptor(hub.get(), hub::encode(message), descriptor.get()), 0);
    }
    std::optional<hub::Message> heard() const {
        std::array<std::byte, hub::largest_message> bytes;
        const auto n = recv(hub.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
        if (n <= 0) return std::nullopt;
        return hub::decode(std::span(bytes).first(static_cast<std::size_t>(n))).value();
    }

    FileDescriptor hub;
    OpenedLink link;
    std::mutex conversation;
    HubBroker broker{link, conversation};
};

TEST_F(HubBrokerTest, AsksAndHears) {
    EXPECT_EQ(broker.event(), link.lane.control.get());
    EXPECT_FALSE(broker.next_news());
    EXPECT_TRUE(broker.ask(peer));
    EXPECT_EQ(heard(), hub::Message(hub::Direct{peer}));
    say(hub::DirectRefused{peer, EPERM});
    auto [one, other] = test::socket_pair();
    say(hub::DirectGranted{peer, hub::DirectId{7}}, one);
    say(hub::DirectOffer{peer, hub::DirectId{8}}, other);
    const auto refused = broker.next_news(), granted = broker.next_news(), offered = broker.next_news();
    ASSERT_TRUE(refused && granted && offered);
    EXPECT_EQ(refused->kind, Kind::refused);
    EXPECT_EQ(refused->peer, peer);
    EXPECT_FALSE(refused->socket);
    EXPECT_EQ(granted->kind, Kind::granted);
    EXPECT_EQ(granted->id, pmd::DirectId{7});
    EXPECT_TRUE(granted->socket);
    EXPECT_EQ(offered->kind, Kind::offered);
    EXPECT_EQ(offered->id, pmd::DirectId{8});
    EXPECT_TRUE(offered->socket);
    EXPECT_FALSE(broker.next_news());
}

TEST_F(HubBrokerTest, UnexpectedAnswersAreNoNews) {
    say(hub::Done{});
    say(hub::DirectRefused{peer, EPERM});
    ASSERT_TRUE(broker.next_news());
    EXPECT_FALSE(broker.next_news());
}

TEST_F(HubBrokerTest, DoesNotBlockOnHubLock) {
    say(hub::DirectRefused{peer, EPERM});
    {
        const std::scoped_lock another(conversation);
        std::jthread([&] {
            EXPECT_FALSE(broker.ask(peer));
            EXPECT_FALSE(broker.next_news());
            broker.end(pmd::DirectId{9});
        }).join();
        EXPECT_FALSE(heard());
    }
    EXPECT_TRUE(broker.next_news());
    EXPECT_EQ(heard(), hub::Message(hub::DirectEnd{hub::DirectId{9}})) << "with the next word";
    EXPECT_FALSE(heard());
}

TEST_F(HubBrokerTest, SaysThatALinkEndedBeforeItAsksForAnother) {
    broker.end(pmd::DirectId{3});
    EXPECT_TRUE(broker.ask(peer));
    EXPECT_EQ(heard(), hub::Message(hub::DirectEnd{hub::DirectId{3}}));
    EXPECT_EQ(heard(), hub::Message(hub::Direct{peer}));
}

TEST_F(HubBrokerTest, AllCallsFailWithoutHub) {
    hub = {};
    EXPECT_FALSE(broker.ask(peer));
    EXPECT_FALSE(broker.next_news());
    broker.end(pmd::DirectId{1});
    EXPECT_FALSE(broker.next_news());
}

}  // namespace
}  // namespace verbline::verbs
