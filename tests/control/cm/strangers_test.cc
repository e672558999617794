// SPDX-License-Identifier: BSD-3-Clause
// Messages with the right ids from a port that is not the peer's, and from all that are.
#include <algorithm>

#include <gtest/gtest.h>

#include "control/cm/connection.h"
#include "tests/control/cm/recording_sink.h"
#include "tests/control/cm/world.h"

namespace verbline::cm::test {
namespace {

constexpr CommunicationId ours{0x11};
constexpr std::uint32_t theirs = 0x22;
constexpr wire::Lid their_lid{7}, alternate_lid{8}, other_lid{9};
const wire::Gid primary_gid = gid_of(2), alternate_gid = gid_of(3), other_gid = gid_of(4);

mad::GmpPeer by_gid(const wire::Gid& gid, wire::Lid lid = {}) {
    return {.path = {.address = {.dlid = lid, .global = true, .dgid = gid}}};
}
mad::GmpPeer by_lid(wire::Lid lid) {
    return {.path = {.address = {.dlid = lid}}};
}

/// An active side whose paths lead to two ports of the peer.
struct Side {
    RecordingSink sink;
    Connection connection{ours, wire::Guid{0x1000}};
    Time now = second;

    explicit Side(bool lids = true) {
        Request request{.qpn = wire::Qpn{5}};
        request.primary.remote_gid = primary_gid;
        request.alternate.emplace().remote_gid = alternate_gid;
        if (lids) request.primary.remote_lid = their_lid, request.alternate->remote_lid = alternate_lid;
        connection.connect(request, now, sink);
    }
    template <class Message>
    void receive(Message message, const mad::GmpPeer& from) {
        message.local_id = theirs;
        message.remote_id = static_cast<std::uint32_t>(ours);
        const auto mad = make_mad(message, 0x11);
        connection.receive(*ReceivedMessage::parse(mad), from, now, sink);
    }
    void establish() {
        receive(wire::CmRep{.qpn = wire::Qpn{6}}, by_gid(primary_gid));
        ASSERT_TRUE(connection.ready_to_use({}, now, sink));
        sink.reported.clear();
        sink.sent.clear();
    }
    bool has_closed_by(const mad::GmpPeer& from) {
        receive(wire::CmDreq{.remote_qpn = wire::Qpn{5}}, from);
        return connection.state() == ConnectionState::timewait;
    }
};

TEST(Strangers, CannotAnswerRefuseOrDelayARequest) {
    Side side;
    side.receive(wire::CmRep{.qpn = wire::Qpn{6}}, by_gid(other_gid));
    side.receive(wire::CmRej{.reason = wire::CmRejectReason::consumer}, by_lid(other_lid));
    side.receive(wire::CmMra{}, by_gid(other_gid, other_lid));
    EXPECT_EQ(side.connection.state(), ConnectionState::req_sent);
    EXPECT_TRUE(side.sink.reported.empty());
    EXPECT_EQ(std::ranges::count(side.sink.counted, Count::rx_dropped_stranger), 3);
}

TEST(Strangers, CannotCloseOrMoveAConnection) {
    Side side;
    side.establish();
    side.receive(wire::CmDreq{.remote_qpn = wire::Qpn{5}}, by_gid(other_gid));
    side.receive(wire::CmRej{.about = wire::CmAbout::other, .reason = wire::CmRejectReason::timeout},
                 by_lid(other_lid));
    side.receive(wire::CmLap{.remote_qpn = wire::Qpn{5}, .local_gid = other_gid}, by_gid(other_gid));
    EXPECT_EQ(side.connection.state(), ConnectionState::established);
    EXPECT_TRUE(side.sink.reported.empty());
    EXPECT_TRUE(side.sink.sent.empty());
    EXPECT_FALSE(side.has_closed_by(by_gid(other_gid))) << "what it proposed has not made it known";
}

/// Within a subnet a GRH may be there or not; LIDs say which port it was, whatever GID it uses.
TEST(Strangers, ThePeerIsKnownByItsGidOrItsLid) {
    for (const auto& from : {by_gid(primary_gid), by_lid(their_lid), by_gid(other_gid, their_lid),
                             by_gid(primary_gid, other_lid), by_lid(alternate_lid), by_gid(alternate_gid)}) {
        Side side;
        side.establish();
        EXPECT_TRUE(side.has_closed_by(from));
    }
}

TEST(Strangers, WithoutLidsOnlyTheGidCounts) {
    for (const auto& from : {by_lid(wire::Lid{}), by_lid(wire::permissive_lid), by_lid(their_lid), by_gid({}),
                             by_gid(other_gid, wire::permissive_lid)}) {
        Side side(false);
        side.establish();
        EXPECT_FALSE(side.has_closed_by(from));
    }
}

TEST(Strangers, APeerThatHasMigratedIsAnsweredWhereItIs) {
    Side side;
    side.establish();
    ConnectionPath path;
    path.remote_gid = other_gid;
    ASSERT_TRUE(side.connection.load_alternate(path, {}, side.now, side.sink));
    side.receive(wire::CmApr{}, by_gid(other_gid));
    side.sink.sent.clear();
    ASSERT_TRUE(side.connection.disconnect({}, side.now, side.sink));
    EXPECT_EQ(side.sink.sent.front().first.path.address.dgid, other_gid);
}

TEST(Strangers, APassiveSideKnowsWhatTheRequestSays) {
    RecordingSink sink;
    Connection connection(ours, wire::Guid{0x1000});
    wire::CmReq req{.local_id = theirs, .qpn = wire::Qpn{6}};
    req.primary.local_gid = primary_gid;
    req.alternate.local_gid = alternate_gid;
    const auto mad = make_mad(req, 0x22);
    connection.accept(*ReceivedMessage::parse(mad), by_gid(primary_gid), second);
    ASSERT_TRUE(connection.reply({.qpn = wire::Qpn{5}}, second, sink));
    const auto rtu = make_mad(wire::CmRtu{.local_id = theirs, .remote_id = 0x11}, 0x22);
    connection.receive(*ReceivedMessage::parse(rtu), by_gid(other_gid), second, sink);
    EXPECT_EQ(connection.state(), ConnectionState::rep_sent);
    connection.receive(*ReceivedMessage::parse(rtu), by_gid(alternate_gid), second, sink);
    EXPECT_EQ(connection.state(), ConnectionState::established);
}

/// Node 0 is connected to node 1; node 2 pretends to be node 0.
struct Three {
    World world{3};
    EndpointPointer listener = *world.manager(1).listen(service, ~std::uint64_t{0}, world.now);
    EndpointPointer active = *world.manager(0).connect(world.request(0, 1), world.now);
    EndpointPointer passive;
    mad::MadBuffer request = world.flights.front().mad;

    Three() {
        world.deliver_all();
        passive = next<RequestReceived>(*listener, world.now)->endpoint;
        EXPECT_TRUE(passive->reply({.qpn = wire::Qpn{0x200}}, world.now));
        world.deliver_all();
        (void)active->poll(world.now);
        EXPECT_TRUE(active->ready_to_use({}, world.now));
        world.deliver_all();
        while (passive->poll(world.now)) {}
        while (listener->poll(world.now)) {}
    }
    /// The refusal's reason, and that nothing else has been sent.
    wire::CmRejectReason refusal_of(const wire::CmReq& req) {
        world.deliver({.from = 2, .to = 1, .mad = make_mad(req, 0x99)});
        while (listener->poll(world.now)) {}
        while (passive->poll(world.now)) {}
        EXPECT_EQ(world.flights.size(), 1u);
        if (world.flights.empty() || world.flights.front().attribute() != wire::CmAttribute::rej) return {};
        EXPECT_EQ(world.flights.front().to, 2u);
        const auto mad = world.flights.front().mad;
        return ReceivedMessage::parse(mad)->as<wire::CmRej>().reason;
    }
    wire::CmReq copy() const { return ReceivedMessage::parse(request)->as<wire::CmReq>(); }
};

TEST(Strangers, CannotMakeAConnectionStaleByItsId) {
    Three three;
    auto req = three.copy();
    req.psn = wire::Psn{99};
    EXPECT_EQ(three.refusal_of(req), wire::CmRejectReason::stale_connection);
    EXPECT_EQ(three.passive->state(), ConnectionState::established);
    EXPECT_EQ(three.world.counter(1, "rx_dropped_stranger"), 1u);
}

TEST(Strangers, CannotMakeAConnectionStaleByItsQueuePair) {
    Three three;
    auto req = three.copy();
    req.local_id += 1;
    EXPECT_EQ(three.refusal_of(req), wire::CmRejectReason::stale_connection);
    EXPECT_EQ(three.passive->state(), ConnectionState::established);
    EXPECT_EQ(three.world.counter(1, "rx_dropped_stranger"), 1u);
}

TEST(Strangers, CannotAnswerForADatagramService) {
    World world(3);
    const auto client = *world.manager(0).resolve({.path = world.request(0, 1).primary, .service = service}, world.now);
    const auto id = static_cast<std::uint32_t>(client->local_id());
    const auto answer = make_mad(wire::CmSidrRep{.request_id = id, .qpn = wire::Qpn{666}}, id);
    world.deliver({.from = 2, .to = 0, .mad = answer});
    EXPECT_FALSE(client->poll(world.now));
    EXPECT_EQ(world.counter(0, "rx_dropped_stranger"), 1u);
    world.deliver({.from = 1, .to = 0, .mad = answer});
    EXPECT_TRUE(next<ServiceReplyReceived>(*client, world.now));
}

}  // namespace
}  // namespace verbline::cm::test
