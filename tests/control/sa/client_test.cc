// SPDX-License-Identifier: BSD-3-Clause
#include "control/sa/client.h"

#include <algorithm>
#include <optional>
#include <set>

#include <gtest/gtest.h>

#include "control/sa/agent.h"
#include "datapath/wire/ipoib.h"
#include "tests/support/fake_transport.h"
#include "tests/support/mad_response.h"
#include "tests/support/path_query.h"

namespace verbline::sa {
namespace {

constexpr wire::Lid sm_lid{1}, stranger{9};

/// The MAD as a SA would answer it: the same record, a status.
mad::MadBuffer answer(const mad::MadBuffer& request, std::uint16_t status = 0) {
    auto mad = request;
    const auto method = test::response_to(wire::Mad::parse(request)->method);
    wire::store8(mad, 3, static_cast<std::uint8_t>(method));
    wire::store16(mad, 4, status);
    return mad;
}

mad::MadBuffer report(wire::Trap trap, const wire::Gid& gid) {
    mad::MadBuffer mad{};
    const std::span<std::byte, wire::mad_size> bytes(mad);
    wire::Mad{.management_class = wire::MadClass::subnet_administration,
              .class_version = wire::sa_class_version,
              .method = wire::MadMethod::report,
              .transaction = 0x1234,
              .attribute = static_cast<std::uint16_t>(wire::SaAttribute::notice)}
        .emit(bytes.first<wire::Mad::size>());
    wire::Notice notice{.producer = wire::Notice::from_class_manager, .trap = static_cast<std::uint16_t>(trap)};
    std::ranges::copy(gid.bytes, notice.details.begin() + 6);
    notice.emit(bytes.subspan<wire::sa_data_offset, wire::Notice::size>());
    return mad;
}

class ClientTest : public testing::Test {
protected:
    bool run_until(const std::function<bool()>& done) {
        for (const Time end = loop->now() + 5 * second; !done() && loop->now() < end;) loop->run_once(millisecond);
        return done();
    }
    void deliver(wire::Lid from, const mad::MadBuffer& mad) { transport.deliver(loop->now(), {.lid = from}, mad); }
    wire::Mad header(std::size_t n) { return *wire::Mad::parse(transport.sent.at(n).mad); }

    std::unique_ptr<control::Loop> loop = *control::Loop::create();
    test::FakeTransport transport;
    Client client{transport, *loop};
};

TEST_F(ClientTest, APathQueryNamesThePartitionAndAsksForOneReversiblePath) {
    std::optional<Answer<wire::PathRecord>> got;
    test::path_by_lid(client, wire::Lid{3}, wire::Lid{4}, wire::PKey{0x8001}, [&](const auto& a) { got = a; });
    ASSERT_EQ(transport.sent.size(), 1u);
    EXPECT_EQ(transport.sent[0].to.lid, sm_lid);
    const auto& mad = transport.sent[0].mad;
    const auto record = *wire::PathRecord::parse(wire::Bytes(mad).subspan(wire::sa_data_offset));
    EXPECT_EQ(record.pkey, wire::PKey{0x8001});
    EXPECT_TRUE(record.reversible);
    EXPECT_EQ(record.path_count, 1);
    const auto mask = wire::SaHeader::parse(wire::Bytes(mad).subspan(wire::sa_header_offset))->components;
    EXPECT_EQ(mask, wire::ComponentMask{1 << 4 | 1 << 5 | 1 << 11 | 1 << 12 | 1 << 13});
    deliver(sm_lid, answer(mad));
    ASSERT_TRUE(got && got->has_value());
    EXPECT_EQ((*got)->destination_lid, wire::Lid{4});
}

TEST_F(ClientTest, ARefusalArrivesWithItsStatus) {
    std::optional<Answer<wire::PathRecord>> got;
    test::path_by_lid(client, wire::Lid{3}, wire::Lid{4}, wire::PKey{0xffff}, [&](const auto& a) { got = a; });
    deliver(sm_lid, answer(transport.sent[0].mad, 0x0300));
    ASSERT_TRUE(got);
    EXPECT_EQ(got->error(), (Failure{.status = SaStatus::no_records}));
}

TEST_F(ClientTest, DropsMadsOfOtherLids) {
    bool got = false;
    test::path_by_lid(client, wire::Lid{3}, wire::Lid{4}, wire::PKey{0xffff}, [&](const auto&) { got = true; });
    deliver(stranger, answer(transport.sent[0].mad));
    deliver(stranger, report(wire::Trap::gid_out_of_service, {}));
    EXPECT_FALSE(got);
    EXPECT_EQ(client.counters().rx_dropped_foreign.value(), 2u);
    EXPECT_EQ(transport.sent.size(), 1u) << "no acknowledgement for a stranger";
}

TEST_F(ClientTest, CountsInvalidMadsByReason) {
    test::path_by_lid(client, wire::Lid{3}, wire::Lid{4}, wire::PKey{0xffff}, [](const auto&) { FAIL(); });
    auto mad = answer(transport.sent[0].mad);
    wire::store8(mad, 2, 1);  // class version
    deliver(sm_lid, mad);
    EXPECT_EQ(client.counters().rx_dropped_malformed.value(), 1u);
    deliver(sm_lid, transport.sent[0].mad);  // a GET: we are no SA
    EXPECT_EQ(client.counters().rx_dropped_unexpected_method.value(), 1u);
    mad = answer(transport.sent[0].mad);
    wire::store32(mad, 12, wire::load32(mad, 12) + 1000);
    deliver(sm_lid, mad);
    EXPECT_EQ(client.transactions().counters().rx_dropped_unknown_tid.value(), 1u);
    wire::store8(mad, 0, 2);  // base version
    deliver(sm_lid, mad);
    EXPECT_EQ(transport.counters().rx_dropped_bad_version.value(), 1u);
    auto bad_report = report(wire::Trap::gid_in_service, {});
    wire::store16(bad_report, 16, 0x0035);
    deliver(sm_lid, bad_report);
    EXPECT_EQ(client.counters().rx_dropped_malformed.value(), 2u);
}

TEST_F(ClientTest, AReportIsAcknowledgedAndHandedOn) {
    std::vector<wire::Notice> notices;
    client.on_report([&](const auto& notice) { notices.push_back(notice); });
    const auto mad = report(wire::Trap::gid_out_of_service, transport.port().gid());
    deliver(sm_lid, mad);
    ASSERT_EQ(notices.size(), 1u);
    EXPECT_EQ(notices[0].trap, 65);
    EXPECT_EQ(wire::notice_gid(notices[0]), transport.port().gid());
    ASSERT_EQ(transport.sent.size(), 1u);
    EXPECT_EQ(header(0).method, wire::MadMethod::report_response);
    EXPECT_EQ(header(0).transaction, 0x1234u);
    EXPECT_EQ(transport.sent[0].to.lid, sm_lid);
    EXPECT_TRUE(std::ranges::equal(wire::Bytes(transport.sent[0].mad).subspan(24), wire::Bytes(mad).subspan(24)));
}

TEST_F(ClientTest, RetransmitsToTheCurrentSmLid) {
    std::optional<Answer<wire::PathRecord>> got;
    client.path({}, 0, [&](const auto& a) { got = a; }, {.timeout = 2 * millisecond, .limit = second, .retries = 2});
    auto moved = transport.port();
    moved.sm_lid = wire::Lid{7};
    transport.observe(moved);
    ASSERT_TRUE(run_until([&] { return transport.sent.size() == 2; }));
    EXPECT_EQ(transport.sent[1].to.lid, wire::Lid{7});
    EXPECT_EQ(transport.sent[1].mad, transport.sent[0].mad);
    deliver(wire::Lid{7}, answer(transport.sent[0].mad));
    EXPECT_TRUE(got);
}

TEST_F(ClientTest, WithoutASubnetManagerNothingIsSentAndTimeOutComes) {
    auto facts = transport.port();
    facts.sm_lid = wire::Lid{};
    transport.observe(facts);
    std::optional<Answer<wire::PathRecord>> got;
    client.path({}, 0, [&](const auto& a) { got = a; }, Client::once(2 * millisecond));
    ASSERT_TRUE(run_until([&] { return got.has_value(); }));
    EXPECT_EQ(got->error().reason, Failure::Reason::timed_out);
    EXPECT_TRUE(transport.sent.empty());
    EXPECT_EQ(client.counters().tx_no_sm.value(), 1u);
}

TEST_F(ClientTest, TooManyRequestsAreRefusedFromTheLoop) {
    std::size_t refused = 0;
    for (std::size_t i = 0; i < mad::Transactions::max_outstanding + mad::Transactions::max_queued + 1; ++i) {
        client.path({}, 0, [&](const auto& a) {
            if (!a && a.error().reason == Failure::Reason::queue_full) ++refused;
        });
    }
    EXPECT_EQ(refused, 0u) << "never from within the call";
    EXPECT_TRUE(run_until([&] { return refused == 1; }));
}

TEST_F(ClientTest, AReplyMayAskAgainOrEndEverything) {
    auto other = std::make_unique<test::FakeTransport>();
    auto ending = std::make_unique<Client>(*other, *loop);
    ending->path({}, 0, [&](const auto&) { ending.reset(); });
    ending->path({}, 0, [](const auto&) { FAIL() << "the client is gone"; });
    other->deliver(loop->now(), {.lid = sm_lid}, answer(other->sent[0].mad));
    EXPECT_FALSE(ending);
    int answers = 0;
    client.path({}, 0, [&](const auto&) {
        ++answers;
        client.path({}, 0, [&](const auto&) { ++answers; });
    });
    deliver(sm_lid, answer(transport.sent[0].mad));
    deliver(sm_lid, answer(transport.sent[1].mad));
    EXPECT_EQ(answers, 2);
}

TEST(JoinRequest, NamesWhatTheBroadcastGroupNeedsAndForOthersAllThatCreatingTakes) {
    const wire::Gid mgid{{std::byte{0xff}, std::byte{0x12}}}, port{{std::byte{0xfe}}};
    namespace c = wire::mcmember_component;
    const auto plain = join_request(mgid, port, wire::join_state::full_member, {});
    EXPECT_EQ(plain.second, c::mgid | c::port_gid | c::pkey | c::join_state);
    const JoinParameters create{.create_like =
                                    Group{.qkey = wire::QKey{0x0b1b}, .mtu = wire::IbMtu::bytes_2048, .rate = 3}};
    const auto [record, mask] = join_request(mgid, port, wire::join_state::full_member, create);
    EXPECT_EQ(mask, plain.second | c::qkey | c::mtu_selector | c::mtu | c::rate_selector | c::rate | c::service_level |
                        c::flow_label | c::hop_limit | c::traffic_class);
    EXPECT_EQ(record.mtu_selector, wire::Selector::exactly);
    EXPECT_EQ(record.qkey, wire::QKey{0x0b1b});
    EXPECT_EQ(join_request(mgid, port, wire::join_state::send_only_non_member, create).second, plain.second)
        << "who only sends cannot create";
}

class AgentTest : public ClientTest {
protected:
    AgentTest() { transport.receive(wire::MadClass::subnet_administration, {}); }
    std::size_t requests(wire::SaAttribute attribute, std::size_t from) {
        std::size_t n = 0;
        for (; from < transport.sent.size(); ++from)
            n += header(from).attribute == static_cast<std::uint16_t>(attribute);
        return n;
    }
    /// Joins and leaves one group, granted by the SA: how many requests to leave there were.
    std::size_t leaves_after_join(bool shared) {
        const wire::Gid mgid = wire::ipoib_broadcast_mgid(wire::PKey{0xffff});
        transport.is_shared = shared;
        Agent agent(transport, *loop);
        bool granted = false;
        const auto before = transport.sent.size();
        agent.groups().join(mgid, UserId{1}, wire::join_state::full_member, {}, [&](const auto&) { granted = true; });
        EXPECT_EQ(transport.sent.size(), before + 1);
        deliver(sm_lid, answer(transport.sent.back().mad));
        EXPECT_TRUE(run_until([&] { return granted; }));
        agent.groups().leave(mgid, UserId{1});
        loop->run_once(0);
        std::size_t leaves = 0;
        for (auto n = before; n < transport.sent.size(); ++n) leaves += header(n).method == wire::MadMethod::remove;
        return leaves;
    }
};

TEST_F(AgentTest, SeveralEventsAtOnceMakeOneNewStart) {
    Agent agent(transport, *loop);
    std::vector<mad::PortEvent> seen;
    const auto watching = agent.on_event([&](mad::PortEvent event) { seen.push_back(event); });
    agent.groups().join({}, UserId{1}, wire::join_state::full_member, {}, [](const auto&) {});
    const auto before = transport.sent.size();
    auto facts = transport.port();
    facts.lid = wire::Lid{5};
    facts.sm_lid = wire::Lid{6};
    transport.observe(facts);
    transport.raise(mad::PortEvent::client_reregister);
    loop->run_once(0);
    EXPECT_EQ(seen.size(), 3u);
    EXPECT_EQ(requests(wire::SaAttribute::mcmember_record, before), 1u);
    EXPECT_EQ(requests(wire::SaAttribute::inform_info, before), Subscriptions::traps.size());
    std::uint64_t start_overs = 0;
    agent.counters([&](std::string_view name, std::uint64_t value, std::string_view) {
        if (name == "start_overs") start_overs = value;
    });
    EXPECT_EQ(start_overs, 1u);
}

TEST_F(AgentTest, APortOfOursAloneLeavesItsGroups) {
    EXPECT_EQ(leaves_after_join(false), 1u);
}

/// The kernel's ib0 is in the broadcast group by the same port: one DELETE would take it out.
TEST_F(AgentTest, ASharedPortNeverLeavesAGroup) {
    EXPECT_EQ(leaves_after_join(true), 0u);
}

TEST_F(AgentTest, APortThatGoesDownIsNoReasonToAskAnything) {
    const Agent agent(transport, *loop);
    const auto before = transport.sent.size();
    transport.raise(mad::PortEvent::port_down);
    loop->run_once(0);
    EXPECT_EQ(transport.sent.size(), before);
}

TEST_F(AgentTest, SubscriptionsNameOurQueuePairAndAllTraps) {
    const Agent agent(transport, *loop);
    std::set<std::uint16_t> traps;
    for (const auto& sent : transport.sent) {
        const auto info = *wire::InformInfo::parse(wire::Bytes(sent.mad).subspan(wire::sa_data_offset));
        EXPECT_EQ(info.qpn, transport.port().qpn);
        EXPECT_EQ(info.subscribe, 1);
        traps.insert(info.trap);
    }
    EXPECT_EQ(traps, (std::set<std::uint16_t>{64, 65, 66, 67}));
}

}  // namespace
}  // namespace verbline::sa
