// SPDX-License-Identifier: BSD-3-Clause
#include "control/multicast/listeners.h"

#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "datapath/link/ip_gid.h"
#include "datapath/neighbour/group_reports.h"
#include "datapath/wire/text.h"

namespace verbline::multicast::over_listeners {
namespace {

using neighbour::MembershipQuery, neighbour::MembershipReport, neighbour::MembershipVersion;
using enum wire::GroupRecordType;

wire::Gid gid4(unsigned a, unsigned b, unsigned c, unsigned d) {
    return link::gid_of(wire::ipv4(a, b, c, d));
}
wire::Gid gid6(std::string_view text) {
    return wire::from_string<wire::Gid>(text).value();
}

const auto us = gid4(10, 0, 0, 5), lower = gid4(10, 0, 0, 1), higher = gid4(10, 0, 0, 9), host = gid4(10, 0, 0, 77);
const auto group = gid4(239, 1, 2, 3), other_group = gid4(239, 1, 2, 4);

class ListenersTest : public testing::Test {
protected:
    MembershipReport says(wire::GroupRecordType type, unsigned sources = 0,
                          MembershipVersion version = MembershipVersion::v3, wire::Gid of = group) {
        return {host, version, {{type, of, sources}}};
    }
    void play(const ListenerActions& actions) {
        for (const auto& action : actions) {
            if (const auto* query = std::get_if<SendQuery>(&action)) queries.push_back(query->query.group);
            if (const auto* joined = std::get_if<Joined>(&action)) {
                EXPECT_TRUE(in.insert(joined->group).second);
            }
            if (const auto* left = std::get_if<Left>(&action)) {
                EXPECT_EQ(in.erase(left->group), 1u);
            }
        }
    }
    void hear(const MembershipReport& report) { play(listeners.received(report, now)); }
    void hear(const MembershipQuery& query) { play(listeners.received(query, now)); }
    void start() { play(listeners.set_address(us, now)); }
    /// Lets time pass, tick by tick.
    void pass(Time time) {
        const Time end = now + time;
        while (listeners.deadline() && *listeners.deadline() <= end) {
            ASSERT_GE(*listeners.deadline(), now);
            now = *listeners.deadline();
            play(listeners.tick(now));
            ASSERT_GT(listeners.deadline().value_or(end + 1), now) << "a tick does all that is due";
        }
        now = end;
    }
    std::size_t asked(const wire::Gid& about) { return static_cast<std::size_t>(std::ranges::count(queries, about)); }

    ListenersCounters counters;
    Listeners listeners{{.most_groups = 4}, counters};
    std::set<wire::Gid> in;
    std::vector<wire::Gid> queries;
    Time now = second;
};

TEST_F(ListenersTest, AsksAtStartTwiceAndThenNowAndAgain) {
    start();
    EXPECT_EQ(queries.size(), 1u);
    pass(31 * second);
    EXPECT_EQ(queries.size(), 1u);
    pass(second);
    EXPECT_EQ(queries.size(), 2u) << "a quarter of the interval later (RFC 3376, 8.6)";
    pass(125 * second);
    EXPECT_EQ(queries.size(), 3u);
    EXPECT_EQ(asked({}), 3u) << "about all groups";
}

TEST_F(ListenersTest, AHostThatReportsIsHeardUntilItIsSilent) {
    start();
    hear(says(change_to_exclude));
    EXPECT_TRUE(in.contains(group));
    pass(200 * second);
    hear(says(mode_is_exclude));
    pass(259 * second);
    EXPECT_TRUE(in.contains(group));
    pass(2 * second);
    EXPECT_TRUE(in.empty()) << "twice the interval and the time to answer (RFC 3376, 8.4)";
}

TEST_F(ListenersTest, AfterALeaveTheOthersAreAsked) {
    start();
    hear(says(change_to_exclude));
    hear(says(change_to_include));
    EXPECT_EQ(asked(group), 1u);
    pass(1500 * millisecond);
    EXPECT_EQ(asked(group), 2u);
    hear(says(mode_is_exclude));
    pass(10 * second);
    EXPECT_TRUE(in.contains(group)) << "another one has answered";
    EXPECT_EQ(asked(group), 2u);
    hear(says(change_to_include));
    pass(1900 * millisecond);
    EXPECT_TRUE(in.contains(group));
    pass(200 * millisecond);
    EXPECT_TRUE(in.empty());
}

TEST_F(ListenersTest, SourcesMakeAListenerOfWhoeverHasSome) {
    start();
    hear(says(change_to_include, 0));
    hear(says(mode_is_include, 0));
    hear(says(allow_new_sources, 0));
    hear(says(block_old_sources, 1));
    EXPECT_TRUE(in.empty());
    EXPECT_EQ(asked(group), 0u);
    for (const auto type : {allow_new_sources, mode_is_include, change_to_include}) {
        hear(says(type, 1));
        EXPECT_TRUE(in.contains(group)) << static_cast<int>(type);
        hear(says(block_old_sources, 1));
        pass(3 * second);
        EXPECT_TRUE(in.empty()) << "asked, nobody said that anything is left";
    }
}

TEST_F(ListenersTest, OlderHostsKeepTheirRules) {
    start();
    hear(says(mode_is_exclude, 0, MembershipVersion::v1));
    EXPECT_EQ(listeners.show(now)[0].version, MembershipVersion::v1);
    hear(says(change_to_include, 0, MembershipVersion::v2));
    hear(says(change_to_include));
    pass(10 * second);
    EXPECT_TRUE(in.contains(group)) << "hosts of version 1 leave by silence";
    pass(260 * second);
    EXPECT_TRUE(in.empty());
    hear(says(mode_is_exclude, 0, MembershipVersion::v2));
    hear(says(block_old_sources, 1));
    EXPECT_EQ(asked(group), 0u) << "a host of version 2 knows of no sources";
    hear(says(change_to_include, 0, MembershipVersion::v2));
    EXPECT_EQ(asked(group), 1u);
    pass(3 * second);
    EXPECT_TRUE(in.empty());
}

TEST_F(ListenersTest, TheRouterWithTheLowestAddressAsks) {
    start();
    hear(MembershipQuery{.from = higher});
    EXPECT_TRUE(listeners.querier());
    hear(MembershipQuery{.from = gid4(0, 0, 0, 0)});
    EXPECT_TRUE(listeners.querier()) << "a switch without an address";
    hear(MembershipQuery{.from = lower, .robustness = 2, .interval = 60 * second});
    EXPECT_FALSE(listeners.querier());
    queries.clear();
    hear(says(change_to_exclude));
    hear(says(change_to_include));
    EXPECT_TRUE(queries.empty()) << "that one asks";
    pass(60 * second);
    EXPECT_TRUE(in.contains(group));
    hear(MembershipQuery{.from = lower, .group = group, .suppress = true});
    pass(3 * second);
    EXPECT_TRUE(in.contains(group));
    hear(MembershipQuery{.from = lower, .group = group});
    pass(3 * second);
    EXPECT_TRUE(in.empty()) << "whoever did not answer is gone (RFC 3376, 6.6.1)";
    queries.clear();
    pass(256 * second);
    EXPECT_TRUE(listeners.querier()) << "the other has not asked for long";
    EXPECT_FALSE(queries.empty());
}

TEST_F(ListenersTest, TheQueriersTimesAreTakenOverWithinReason) {
    start();
    hear(MembershipQuery{.from = lower, .robustness = 7, .interval = 31744 * second});
    hear(says(change_to_exclude));
    pass(7 * 600 * second + 11 * second);
    EXPECT_TRUE(in.empty());
}

TEST_F(ListenersTest, GroupsAreBoundedAndLinkScopeIsTheHosts) {
    start();
    for (unsigned n = 1; n <= 6; ++n) hear(says(change_to_exclude, 0, MembershipVersion::v3, gid4(239, 1, 1, n)));
    EXPECT_EQ(in.size(), 4u);
    EXPECT_EQ(counters.membership_groups_full.value(), 2u);
    Listeners all({.link_scope = true}, counters);
    EXPECT_EQ(all.received(says(change_to_exclude, 0, MembershipVersion::v3, gid4(224, 0, 0, 251)), now).size(), 1u);
    EXPECT_EQ(all.received(says(change_to_exclude, 0, MembershipVersion::v3, gid4(224, 0, 0, 1)), now).size(), 0u);
    EXPECT_EQ(all.received(says(change_to_exclude, 0, MembershipVersion::v3, gid6("ff02::1:ff00:1")), now).size(), 1u);
    Listeners routed({}, counters);
    EXPECT_EQ(routed.received(says(change_to_exclude, 0, MembershipVersion::v3, gid4(224, 0, 0, 251)), now).size(), 0u);
    EXPECT_EQ(routed.received(says(change_to_exclude, 0, MembershipVersion::v3, gid6("ff02::1:ff00:1")), now).size(),
              0u);
}

TEST_F(ListenersTest, ALinkThatGoesDownHasNoListeners) {
    start();
    hear(says(change_to_exclude));
    play(listeners.clear());
    EXPECT_TRUE(in.empty());
}

/// Hosts by the engine of ours (neighbour::GroupReports), two routers, packets as bytes, some of them lost.
class Link {
public:
    Link(std::uint64_t seed, bool ipv4) : random_(seed), ipv4_(ipv4) {
        for (unsigned i = 0; i < 4; ++i) {
            hosts_.push_back(std::make_unique<neighbour::GroupReports>(seed * 8 + i));
            const neighbour::ReportSource source{wire::ipv4(10, 0, 0, 20 + i), link::ipv6_of(gid6("fe80::20"))};
            hosts_.back()->set_source(source, 0);
            groups_.emplace_back();
        }
        for (std::size_t r = 0; r < routers_.size(); ++r) play(r, routers_[r].set_address(address(r), now_));
    }
    void run(unsigned steps) {
        for (unsigned i = 0; i < steps; ++i) {
            const auto h = random_() % hosts_.size();
            const auto gid =
                ipv4_ ? gid4(239, 0, 0, 1 + random_() % 3) : gid6("ff05::" + std::to_string(1 + random_() % 3));
            const bool joins = random_() % 2 == 0;
            joins ? (void)groups_[h].insert(gid) : (void)groups_[h].erase(gid);
            send(joins ? hosts_[h]->join(gid, now_) : hosts_[h]->leave(gid, now_));
            pass(static_cast<Time>(random_() % 40) * second);
        }
        lossy_ = false;
        pass(600 * second);
    }
    std::set<wire::Gid> wanted() const {
        std::set<wire::Gid> all;
        for (const auto& groups : groups_) all.insert(groups.begin(), groups.end());
        return all;
    }
    const std::set<wire::Gid>& known(std::size_t router) const { return known_[router]; }
    std::size_t queriers() const {
        return static_cast<std::size_t>(std::ranges::count_if(routers_, [](const auto& r) { return r.querier(); }));
    }

private:
    wire::Gid address(std::size_t router) const {
        const auto n = static_cast<unsigned>(router);
        return ipv4_ ? gid4(10, 0, 0, 1 + n) : gid6("fe80::" + std::to_string(1 + n));
    }
    bool lost() { return lossy_ && random_() % 5 == 0; }
    void send(const neighbour::GroupReports::Packets& packets) {
        for (const auto& packet : packets)
            for (std::size_t r = 0; r < routers_.size(); ++r)
                if (!lost()) hear(r, packet.bytes);
    }
    void hear(std::size_t router, wire::Bytes packet) {
        const auto message = neighbour::read_membership(packet);
        ASSERT_TRUE(message);
        play(router, std::visit([&](const auto& m) { return routers_[router].received(m, now_); }, *message));
    }
    void play(std::size_t router, const ListenerActions& actions) {
        for (const auto& action : actions) {
            if (const auto* joined = std::get_if<Joined>(&action)) {
                EXPECT_TRUE(known_[router].insert(joined->group).second);
            }
            if (const auto* left = std::get_if<Left>(&action)) {
                EXPECT_EQ(known_[router].erase(left->group), 1u);
            }
            const auto* query = std::get_if<SendQuery>(&action);
            if (query == nullptr) continue;
            const auto packet = neighbour::query_packet(query->query);
            if (!lost()) hear(1 - router, packet.bytes);
            for (const auto& each : hosts_)
                if (!lost()) each->received(packet.bytes, now_);
        }
    }
    void pass(Time time) {
        for (const Time end = now_ + time; now_ < end; now_ += 100 * millisecond) {
            for (std::size_t r = 0; r < routers_.size(); ++r) play(r, routers_[r].tick(now_));
            for (const auto& each : hosts_) send(each->tick(now_));
        }
    }

    std::mt19937_64 random_;
    bool ipv4_, lossy_ = true;
    Time now_ = second;
    std::vector<std::unique_ptr<neighbour::GroupReports>> hosts_;
    std::vector<std::set<wire::Gid>> groups_;
    ListenersCounters counters_;
    std::array<Listeners, 2> routers_{{{{}, counters_}, {{}, counters_}}};
    std::array<std::set<wire::Gid>, 2> known_;
};

TEST(ListenersSimulation, RoutersEndUpWithTheGroupsOfTheHosts) {
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        for (const bool ipv4 : {true, false}) {
            Link link(seed, ipv4);
            link.run(12);
            EXPECT_EQ(link.known(0), link.wanted()) << seed;
            EXPECT_EQ(link.known(1), link.wanted()) << seed;
            EXPECT_EQ(link.queriers(), 1u) << seed;
        }
    }
}

}  // namespace
}  // namespace verbline::multicast::over_listeners
