// SPDX-License-Identifier: BSD-3-Clause
// XRC domains and targets over the real sockets: who is told what, and what the datapath is told.
#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include <fcntl.h>
#include <poll.h>

#include "datapath/link/member.h"
#include "datapath/wire/text.h"
#include "pmd/base/descriptor_message.h"
#include "tests/control/hub/address.h"
#include "tests/control/hub/server_fixture.h"

namespace verbline::hub {
namespace {

/// Writes down what it is told, as `join 1 ready`.
struct XrcLog : XrcHost {
    Result<void> start(const XrcTarget& target) override {
        if (target.peer == wire::Qpn{}) return failure(EINVAL, "no peer");
        said.push_back("start");
        return {};
    }
    void stop(wire::Qpn) override { said.push_back("stop"); }
    void join(wire::Qpn, LaneId member, bool ready) override { say("join", member, ready ? " ready" : ""); }
    void leave(wire::Qpn, LaneId member) override { say("leave", member, ""); }
    std::vector<std::pair<wire::Qpn, wire::NakCode>> take_failures() override { return std::exchange(failures, {}); }
    void say(const char* what, LaneId member, const char* more) {
        said.push_back(std::string(what) + " " + std::to_string(std::to_underlying(member)) + more);
    }

    std::vector<std::string> said;
    std::vector<std::pair<wire::Qpn, wire::NakCode>> failures;
};

struct XrcFakeHost : FakeHost {
    XrcHost* xrc() override { return &log; }
    XrcLog log;
};

struct XrcServerTest : NodeTest {
    void SetUp() override {
        serve({.subnets = {}, .owner = owner, .quotas = {.user_targets = 3}, .node = identity()}, host);
        one = join();
        two = join();
        domain = open_xrc_domain(one, file.get(), {.create = true}).value();
    }
    /// What the datapath has been told since the last call.
    std::vector<std::string> said() {
        std::vector<std::string> all;
        on_server([&] { all = std::exchange(host.log.said, {}); });
        return all;
    }
    /// The next targets that a lane is told of, which must come.
    static std::vector<XrcTarget> told(const Lane& lane) {
        auto all = take_xrc_targets(lane);
        pollfd arrival{.fd = lane.control.get(), .events = POLLIN, .revents = 0};
        if (all.empty() && poll(&arrival, 1, 20'000) == 1) all = take_xrc_targets(lane);
        EXPECT_FALSE(all.empty()) << "the node says nothing";
        return all;
    }
    XrcTarget ready(wire::Qpn target) const {
        return {.domain = domain,
                .qpn = target,
                .state = XrcTargetState::rtr,
                .peer = wire::Qpn{77},
                .mtu = 1024,
                .source = address("10.1.0.1/24").gid,
                .to = {.global = true, .dgid = address("10.1.0.2/24").gid},
                .mac = *wire::from_string<wire::MacAddress>("02:00:00:00:00:08")};
    }

    uid_t owner = geteuid();
    XrcFakeHost host;
    FileDescriptor file{open("/dev/null", O_RDONLY | O_CLOEXEC)}, other_file{open("/dev/zero", O_RDONLY | O_CLOEXEC)};
    Lane one, two;
    XrcDomainId domain{};
};

TEST_F(XrcServerTest, DescriptorsOfOneFileAreOneDomain) {
    const FileDescriptor again(open("/dev/null", O_RDONLY | O_CLOEXEC));
    EXPECT_EQ(open_xrc_domain(two, again.get(), {}).value(), domain);
    EXPECT_EQ(open_xrc_domain(two, other_file.get(), {}).error().code, EAGAIN);
    EXPECT_NE(open_xrc_domain(two, other_file.get(), {.create = true}).value(), domain);
    EXPECT_EQ(open_xrc_domain(two, again.get(), {.create = true, .exclusive = true}).error().code, EINVAL);
    EXPECT_EQ(open_xrc_domain(two, -1, {.create = true}).error().code, EBADF);
}

TEST_F(XrcServerTest, MembersOfTheDomainHaveItsTargets) {
    const auto early = create_xrc_target(one, domain).value();
    open_xrc_domain(two, file.get(), {}).value();
    EXPECT_EQ(told(two).at(0).qpn, early);
    const auto late = create_xrc_target(one, domain).value();
    const auto news = told(two);
    EXPECT_EQ(news.at(0).qpn, late);
    EXPECT_EQ(news.at(0).state, XrcTargetState::reset);
    EXPECT_TRUE(take_xrc_targets(one).empty()) << "who has made it knows";
    EXPECT_EQ(close_xrc_target(two, late).error().code, EINVAL) << "two has not opened it";
    EXPECT_TRUE(open_xrc_target(two, domain, late));
    EXPECT_TRUE(close_xrc_target(one, late));
    EXPECT_TRUE(close_xrc_target(two, late));
    EXPECT_EQ(told(one).at(0).state, XrcTargetState::gone);
    EXPECT_EQ(told(two).at(0).state, XrcTargetState::gone);
}

TEST_F(XrcServerTest, AConnectedTargetIsPassedToAMemberOnceThatHasIt) {
    open_xrc_domain(two, file.get(), {}).value();
    const auto target = create_xrc_target(one, domain).value();
    told(two);
    said();
    EXPECT_TRUE(set_xrc_target(one, ready(target)));
    EXPECT_EQ(said(), (std::vector<std::string>{"start", "join 1 ready", "join 2"}));
    const auto news = told(two);
    EXPECT_EQ(news.at(0).peer, wire::Qpn{77});
    auto stale = news.at(0);
    --stale.change;
    tell_xrc_target_taken(two, stale);
    tell_xrc_target_taken(two, news.at(0));
    EXPECT_TRUE(open_xrc_target(two, domain, target));  // an answer, after what was said before
    EXPECT_EQ(said(), std::vector<std::string>{"join 2 ready"});
    const auto late = join();
    open_xrc_domain(late, file.get(), {}).value();
    EXPECT_EQ(said(), std::vector<std::string>{"join 3"});
    EXPECT_TRUE(close_xrc_domain(two, domain));
    EXPECT_EQ(said(), std::vector<std::string>{"leave 2"});
    auto broken = ready(target);
    broken.state = XrcTargetState::error;
    EXPECT_TRUE(set_xrc_target(one, broken));
    EXPECT_EQ(said(), std::vector<std::string>{"stop"});
}

TEST_F(XrcServerTest, WhatTheDatapathRefusesIsRefused) {
    const auto target = create_xrc_target(one, domain).value();
    auto wrong = ready(target);
    wrong.peer = {};
    EXPECT_EQ(set_xrc_target(one, wrong).error().code, EINVAL);
    EXPECT_EQ(set_xrc_target(two, ready(target)).error().code, EINVAL) << "it is none of its";
}

TEST_F(XrcServerTest, TheEndOfAMemberEndsWhatOnlyItHad) {
    open_xrc_domain(two, file.get(), {}).value();
    const auto kept = create_xrc_target(one, domain).value(), lost = create_xrc_target(one, domain).value();
    EXPECT_TRUE(open_xrc_target(two, domain, kept));
    take_xrc_targets(two);
    one.control = {};
    const auto news = told(two);
    ASSERT_EQ(news.size(), 1u);
    EXPECT_EQ(news[0].qpn, lost);
    EXPECT_EQ(news[0].state, XrcTargetState::gone);
    EXPECT_TRUE(open_xrc_target(two, domain, kept));
}

TEST_F(XrcServerTest, AllMembersHearOfAFailure) {
    open_xrc_domain(two, file.get(), {}).value();
    const auto target = create_xrc_target(one, domain).value();
    told(two);
    on_server([&] {
        host.log.failures.emplace_back(target, wire::NakCode::remote_access);
        server->look_after_xrc();
    });
    for (const auto* const lane : {&one, &two}) {
        const auto news = told(*lane);
        EXPECT_EQ(news.at(0).state, XrcTargetState::error);
        EXPECT_EQ(news.at(0).failure, wire::NakCode::remote_access);
    }
}

TEST_F(XrcServerTest, AMemberThatDoesNotReadIsToldOnceItDoes) {
    open_xrc_domain(two, file.get(), {}).value();
    constexpr std::size_t many = 500;  // more than its socket holds
    for (std::size_t i = 0; i < many; ++i) ASSERT_TRUE(create_xrc_target(one, domain));
    std::size_t heard = 0;
    while (heard < many) {
        const auto news = told(two);
        ASSERT_FALSE(news.empty());
        heard += news.size();
        tell_xrc_target_taken(two, news.back());
    }
    EXPECT_EQ(heard, many);
}

TEST_F(XrcServerTest, DescriptorsAreClosedWithWhateverTheyCome) {
    const auto descriptors = [this] {
        on_server([] {});  // which may be at the last message still
        return std::ranges::distance(std::filesystem::directory_iterator("/proc/self/fd"));
    };
    const auto before = descriptors();
    for (int i = 0; i < 50; ++i) ASSERT_TRUE(open_xrc_domain(one, file.get(), {}));
    const auto taken = encode(XrcTargetTaken{wire::Qpn{link::own_queue_pairs}, 1});  // has no answer
    for (int i = 0; i < 50; ++i) ASSERT_GT(send_with_descriptor(one.control.get(), taken, file.get()), 0);
    ASSERT_TRUE(open_xrc_domain(one, file.get(), {})) << "an answer, after all that";
    EXPECT_EQ(descriptors(), before);
}

struct XrcOfOtherUserTest : XrcServerTest {
    XrcOfOtherUserTest() { owner = geteuid() + 1; }
};

TEST_F(XrcOfOtherUserTest, AUserHasSoManyTargetsInAllItsPrograms) {
    open_xrc_domain(two, file.get(), {}).value();
    const auto first = create_xrc_target(one, domain).value();
    EXPECT_TRUE(create_xrc_target(one, domain));
    EXPECT_TRUE(create_xrc_target(two, domain));
    EXPECT_EQ(create_xrc_target(two, domain).error().code, ENOMEM);
    EXPECT_TRUE(open_xrc_target(two, domain, first)) << "it is counted already";
    EXPECT_TRUE(close_xrc_target(one, first));
    EXPECT_EQ(create_xrc_target(one, domain).error().code, ENOMEM) << "two has it still";
    EXPECT_TRUE(close_xrc_target(two, first));
    EXPECT_TRUE(create_xrc_target(one, domain));
}

struct XrcOfHubTest : HubServerTest {};

TEST_F(XrcOfHubTest, IsNotShared) {
    const auto lane = join().value();
    const FileDescriptor file(open("/dev/null", O_RDONLY | O_CLOEXEC));
    EXPECT_EQ(open_xrc_domain(lane, file.get(), {.create = true}).error().code, EOPNOTSUPP);
}

}  // namespace
}  // namespace verbline::hub
