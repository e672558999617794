// SPDX-License-Identifier: BSD-3-Clause
// Direct links over the real sockets: who is given which end, and what comes between questions and answers.
#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <optional>

#include <gtest/gtest.h>

#include "control/hub/client.h"
#include "datapath/wire/text.h"
#include "pmd/base/descriptor_message.h"
#include "tests/control/hub/server_fixture.h"

namespace verbline::hub {
namespace {

using Kind = DirectNews::Kind;

struct HubDirectTest : HubServerTest {
    void SetUp() override {
        HubServerTest::SetUp();
        one = join({}, true).value();
        two = join({}, true).value();
    }
    /// The next news of a lane, which must come.
    static DirectNews news(const Lane& lane) {
        pollfd arrival{.fd = lane.control.get(), .events = POLLIN, .revents = 0};
        auto next = take_direct_news(lane);
        if (!next && poll(&arrival, 1, 20'000) == 1) next = take_direct_news(lane);
        EXPECT_TRUE(next) << "the hub says nothing";
        return next ? std::move(*next) : DirectNews{};
    }
    /// Whether what is said at one end is heard at the other.
    static bool connected(const FileDescriptor& one, const FileDescriptor& other) {
        char heard = 0;
        return send(one.get(), "x", 1, MSG_NOSIGNAL) == 1 && recv(other.get(), &heard, 1, 0) == 1 && heard == 'x';
    }
    std::size_t links() {
        std::size_t count = 0;
        on_server([&] { count = server->registry().direct_links().size(); });
        return count;
    }
    /// Once the server has done with the message that it is at: it may count after it has answered.
    const DirectCounters& counters() {
        on_server([] {});
        return server->direct_counters();
    }
    static std::ptrdiff_t open_descriptors() {
        return std::ranges::distance(std::filesystem::directory_iterator("/proc/self/fd"));
    }

    Lane one, two;
};

TEST_F(HubDirectTest, BothClientsGetASocketOfTheLink) {
    ASSERT_TRUE(ask_direct(one, two.mac));
    const auto granted = news(one), offered = news(two);
    EXPECT_EQ(granted.kind, Kind::granted);
    EXPECT_EQ(granted.peer, two.mac);
    EXPECT_EQ(offered.kind, Kind::offered);
    EXPECT_EQ(offered.peer, one.mac);
    EXPECT_EQ(offered.id, granted.id);
    EXPECT_TRUE(connected(granted.socket, offered.socket));
    EXPECT_TRUE(connected(offered.socket, granted.socket));
    EXPECT_FALSE(take_direct_news(one));
    EXPECT_EQ(counters().direct_granted.value(), 1u);
}

TEST_F(HubDirectTest, ARefusalAffectsNoOtherClient) {
    ASSERT_TRUE(ask_direct(one, one.mac));
    const auto refused = news(one);
    EXPECT_EQ(refused.kind, Kind::refused);
    EXPECT_EQ(refused.peer, one.mac);
    EXPECT_EQ(refused.code, ENOENT);
    EXPECT_FALSE(refused.socket);
    EXPECT_EQ(counters().direct_refused.value(), 1u);
    EXPECT_TRUE(reserve_port(one, 0x106, 0)) << "the lane goes on";
}

TEST_F(HubDirectTest, NewsBetweenAQuestionAndItsAnswerAreKept) {
    const auto group = *wire::from_string<wire::MacAddress>("01:00:5e:01:01:01");
    ASSERT_TRUE(ask_direct(one, two.mac));
    ASSERT_TRUE(join_group(one, group)) << "the answer to the first question comes first";
    ASSERT_TRUE(ask_direct(one, wire::MacAddress{{std::byte{2}}}));
    EXPECT_TRUE(reserve_port(one, 0x106, 7174));
    EXPECT_TRUE(reserve_port(two, 0x106, 7175)) << "behind an offer";
    const auto granted = news(one), refused = news(one), offered = news(two);
    EXPECT_EQ(granted.kind, Kind::granted);
    EXPECT_EQ(refused.kind, Kind::refused);
    EXPECT_EQ(offered.kind, Kind::offered);
    EXPECT_TRUE(connected(granted.socket, offered.socket)) << "with their sockets";
}

TEST_F(HubDirectTest, SimultaneousRequestsMakeOneLink) {
    ASSERT_TRUE(ask_direct(one, two.mac));
    const auto granted = news(one);
    ASSERT_TRUE(ask_direct(two, one.mac));
    const auto offered = news(two), refused = news(two);
    EXPECT_EQ(offered.kind, Kind::offered);
    EXPECT_EQ(refused.code, EALREADY);
    EXPECT_TRUE(connected(granted.socket, offered.socket));
    EXPECT_EQ(links(), 1u);
}

TEST_F(HubDirectTest, GrantsANewLinkAfterEnd) {
    ASSERT_TRUE(ask_direct(one, two.mac));
    const auto first = news(one);
    end_direct(one, first.id);
    ASSERT_TRUE(ask_direct(one, two.mac));
    const auto second = news(one);
    EXPECT_EQ(second.kind, Kind::granted);
    EXPECT_NE(second.id, first.id);
    EXPECT_EQ(links(), 1u);
}

TEST_F(HubDirectTest, ALaneTakesItsLinksAlong) {
    ASSERT_TRUE(ask_direct(one, two.mac));
    const auto granted = news(one);
    two.control = {};
    while (links() != 0) {}
    char nothing = 0;
    EXPECT_EQ(recv(granted.socket.get(), &nothing, 1, MSG_DONTWAIT), 0) << "its end was closed with the offer unread";
}

TEST_F(HubDirectTest, UnreadOffersAreBounded) {
    unsigned granted = 0;
    int code = 0;
    for (; code == 0 && granted < 1000; ++granted) {
        ASSERT_TRUE(ask_direct(one, two.mac));
        const auto answer = news(one);
        code = answer.code;
        end_direct(one, answer.id);
    }
    EXPECT_EQ(code, EAGAIN);
    EXPECT_LT(granted, 100u) << "descriptors that wait with it";
    EXPECT_GT(granted, 16u);
    EXPECT_EQ(links(), 0u);
    EXPECT_EQ(news(two).kind, Kind::offered);
    EXPECT_TRUE(reserve_port(two, 0x106, 0)) << "and reads on where it was";
}

TEST_F(HubDirectTest, WithoutALaneOrFromAHubItIsHostile) {
    const std::array<Message, 5> messages{Direct{one.mac}, DirectEnd{DirectId{1}}, DirectGranted{one.mac, DirectId{1}},
                                          DirectRefused{one.mac, EPERM}, DirectOffer{one.mac, DirectId{1}}};
    for (const auto& message : messages) {
        const auto fd = connect();
        say(fd, encode(message));
        EXPECT_FALSE(answer(fd)) << message.index();
    }
    say(one.control, encode(DirectOffer{two.mac, DirectId{1}}));
    EXPECT_FALSE(answer(one.control)) << "what only a hub says";
}

TEST_F(HubDirectTest, DescriptorsOfClientsAreNotTaken) {
    const auto bytes = encode(Direct{two.mac});
    const auto before = open_descriptors();
    ASSERT_GT(send_with_descriptor(one.control.get(), bytes, one.control.get()), 0);
    const auto granted = news(one);
    EXPECT_EQ(granted.kind, Kind::granted);
    const auto offered = news(two);
    on_server([] {});  // it has closed its own
    EXPECT_EQ(open_descriptors(), before + 2) << "the two ends, here";
}

}  // namespace
}  // namespace verbline::hub
