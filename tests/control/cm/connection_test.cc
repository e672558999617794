// SPDX-License-Identifier: BSD-3-Clause
// One side of a connection, against messages that a test makes.
#include "control/cm/connection.h"

#include <gtest/gtest.h>

#include "datapath/wire/class_port_info.h"
#include "tests/control/cm/recording_sink.h"

namespace verbline::cm {
namespace {

constexpr CommunicationId ours{0x11}, theirs{0x22};
constexpr Time patience = wire::cm_nanoseconds(20) + 2 * wire::cm_nanoseconds(18);

/// Who sends from there.
mad::GmpPeer at(wire::Gid gid) {
    return {.path = {.address = {.global = true, .dgid = gid}}};
}
const wire::Gid their_gid = wire::Gid::of(1, wire::Guid{2}), other_gid = wire::Gid::of(1, wire::Guid{3});

struct Bench {
    test::RecordingSink sink;
    Connection connection{ours, wire::Guid{0x1000}};
    Time now = second;
    mad::GmpPeer from = at(their_gid);

    template <class Message>
    void receive(Message message, std::uint64_t transaction = 0x11, bool addressed = true) {
        if constexpr (requires { message.remote_id; }) {
            message.remote_id = static_cast<std::uint32_t>(ours);
            if (addressed) message.local_id = static_cast<std::uint32_t>(theirs);
        }
        const auto mad = make_mad(message, transaction);
        connection.receive(*ReceivedMessage::parse(mad), from, now, sink);
    }
    void connect(bool peer_to_peer = false) {
        Request request{.qpn = wire::Qpn{5}, .max_cm_retries = 2, .peer_to_peer = peer_to_peer};
        request.primary.remote_gid = their_gid;
        connection.connect(request, now, sink);
    }
    void establish() {
        connect();
        receive(wire::CmRep{.qpn = wire::Qpn{6}, .target_ack_delay = 15});
        ASSERT_TRUE(connection.ready_to_use({}, now, sink));
        sink.reported.clear();
    }
    template <class Kind>
    const Kind* only_event() const {
        return sink.reported.size() == 1 ? std::get_if<Kind>(&sink.reported.front()) : nullptr;
    }
};

TEST(Connection, TransactionIsOursInAllOfAnExchange) {
    Bench b;
    b.establish();
    EXPECT_EQ(b.sink.last().attribute(), wire::CmAttribute::rtu);
    EXPECT_EQ(b.sink.last().transaction(), 0x11u);
    EXPECT_EQ(b.sink.last().as<wire::CmRtu>().remote_id, 0x22u);
}

TEST(Connection, ARepeatedRtuIsIdentical) {
    Bench b;
    b.connect();
    b.receive(wire::CmRep{.qpn = wire::Qpn{6}});
    ASSERT_TRUE(b.connection.ready_to_use({std::byte{42}}, b.now, b.sink));
    b.receive(wire::CmRep{.qpn = wire::Qpn{6}});
    ASSERT_EQ(b.sink.sent.size(), 3u);
    EXPECT_EQ(b.sink.sent[2].second, b.sink.sent[1].second);
    // A message about an alternate path is what is repeated from then on, but not for a REP.
    ASSERT_TRUE(b.connection.load_alternate({}, {}, b.now, b.sink));
    b.receive(wire::CmRep{.qpn = wire::Qpn{6}});
    EXPECT_EQ(b.sink.last().attribute(), wire::CmAttribute::rtu);
    b.connection.tick(*b.connection.deadline(), b.sink);
    EXPECT_EQ(b.sink.last().attribute(), wire::CmAttribute::lap);
}

TEST(Connection, RepeatsInTheTimeThatTheMessagesSay) {
    Bench b;
    b.connect();
    EXPECT_EQ(b.connection.deadline(), b.now + patience);
    b.connection.tick(b.now + patience - 1, b.sink);
    EXPECT_EQ(b.sink.sent.size(), 1u);
    b.connection.tick(b.now + patience, b.sink);
    EXPECT_EQ(b.sink.sent.size(), 2u);
    EXPECT_EQ(b.sink.sent[0].second, b.sink.sent[1].second) << "bit for bit";
}

TEST(Connection, IgnoresMessagesWithForeignIdsOrQpn) {
    Bench b;
    b.establish();
    b.sink.sent.clear();
    b.receive(wire::CmDreq{.local_id = 0x99, .remote_qpn = wire::Qpn{5}}, 0, false);
    b.receive(wire::CmDreq{.remote_qpn = wire::Qpn{7}});
    b.receive(wire::CmRej{.reason = wire::CmRejectReason::consumer}, 0x77, false);
    EXPECT_EQ(b.connection.state(), ConnectionState::established);
    EXPECT_TRUE(b.sink.sent.empty());
    EXPECT_TRUE(b.sink.reported.empty());
    EXPECT_EQ(b.sink.counted.back(), Count::rx_dropped_mismatched);
}

TEST(Connection, ARefusalEndsAnEstablishedOneThroughTimewait) {
    Bench b;
    b.establish();
    b.receive(wire::CmRej{.about = wire::CmAbout::other, .reason = wire::CmRejectReason::timeout});
    ASSERT_TRUE(b.only_event<Rejected>());
    EXPECT_EQ(b.connection.state(), ConnectionState::timewait);
    EXPECT_EQ(b.connection.deadline(), b.now + 2 * wire::cm_nanoseconds(18) + wire::cm_nanoseconds(15));
}

TEST(Connection, AdditionalInformationIsBoundedByTheField) {
    Bench b;
    b.connect();
    wire::CmRej rej{.information_length = 127, .reason = wire::CmRejectReason::consumer};
    b.receive(rej);
    ASSERT_TRUE(b.only_event<Rejected>());
    EXPECT_EQ(b.only_event<Rejected>()->rejection.information.size(), 72u);
}

TEST(Connection, FollowsARedirectOnce) {
    Bench b;
    b.connect();
    wire::CmRej rej{.information_length = 72, .reason = wire::CmRejectReason::cm_redirect};
    wire::ClassPortInfo{.redirect_gid = other_gid,
                        .redirect_pkey = wire::PKey{0x8001},
                        .redirect_qpn = wire::Qpn{1},
                        .redirect_qkey = wire::gsi_qkey}
        .emit(rej.information);
    b.receive(rej);
    EXPECT_TRUE(b.sink.reported.empty());
    ASSERT_EQ(b.sink.sent.size(), 2u);
    EXPECT_EQ(b.sink.sent[1].first.path.address.dgid, other_gid);
    EXPECT_EQ(b.sink.sent[1].first.pkey, wire::PKey{0x8001});
    b.from = at(other_gid);
    b.receive(rej);
    ASSERT_TRUE(b.only_event<Rejected>());
    EXPECT_EQ(b.only_event<Rejected>()->rejection.information.size(), 72u);
}

/// That needs a path, which only the user can find.
TEST(Connection, ReportsRedirectToAnotherPort) {
    Bench b;
    b.connect();
    wire::CmRej rej{.information_length = 72, .reason = wire::CmRejectReason::port_redirect};
    wire::ClassPortInfo{.redirect_gid = other_gid, .redirect_qpn = wire::Qpn{1}}.emit(rej.information);
    b.receive(rej);
    ASSERT_TRUE(b.only_event<Rejected>());
    const auto there = wire::ClassPortInfo::parse(b.only_event<Rejected>()->rejection.information);
    ASSERT_TRUE(there);
    EXPECT_EQ(there->redirect_gid, other_gid);
    EXPECT_EQ(b.connection.state(), ConnectionState::idle);
}

TEST(Connection, AReplyFromAQueuePairThatIsTakenIsRefusedAsStale) {
    Bench b;
    b.sink.free = false;
    b.connect();
    b.receive(wire::CmRep{.qpn = wire::Qpn{6}});
    ASSERT_TRUE(b.only_event<Rejected>());
    EXPECT_EQ(b.sink.last().as<wire::CmRej>().reason, wire::CmRejectReason::stale_connection);
    EXPECT_EQ(b.sink.last().as<wire::CmRej>().about, wire::CmAbout::rep);
}

TEST(Connection, ClosesWithoutAnAnswer) {
    Bench b;
    b.establish();
    ASSERT_TRUE(b.connection.disconnect({}, b.now, b.sink));
    for (int i = 0; i < 3; ++i) b.connection.tick(*b.connection.deadline(), b.sink);
    ASSERT_TRUE(b.only_event<Disconnected>());
    EXPECT_TRUE(b.only_event<Disconnected>()->timed_out);
    b.connection.tick(*b.connection.deadline(), b.sink);
    EXPECT_EQ(b.connection.state(), ConnectionState::idle);
    EXPECT_TRUE(std::holds_alternative<TimewaitExited>(b.sink.reported.back()));
}

TEST(Connection, AnswersDisconnectsInTimewaitAndAfter) {
    Bench b;
    b.establish();
    for (int i = 0; i < 3; ++i) {
        b.sink.sent.clear();
        b.receive(wire::CmDreq{.remote_qpn = wire::Qpn{5}}, 0x1234);
        ASSERT_EQ(b.sink.sent.size(), 1u);
        EXPECT_EQ(b.sink.last().attribute(), wire::CmAttribute::drep);
        EXPECT_EQ(b.sink.last().transaction(), 0x1234u);
        if (i == 1) b.connection.tick(*b.connection.deadline(), b.sink);
    }
    EXPECT_TRUE(std::holds_alternative<DisconnectRequested>(b.sink.reported.front()));
    EXPECT_EQ(b.sink.reported.size(), 2u);
}

TEST(Connection, CallsInTheWrongStateFail) {
    Bench b;
    EXPECT_EQ(b.connection.reply({}, b.now, b.sink).error().code, EINVAL);
    EXPECT_EQ(b.connection.ready_to_use({}, b.now, b.sink).error().code, EINVAL);
    EXPECT_EQ(b.connection.reject({}, b.now, b.sink).error().code, EINVAL);
    EXPECT_EQ(b.connection.delay(20, {}, b.now, b.sink).error().code, EINVAL);
    EXPECT_EQ(b.connection.established(b.now).error().code, EINVAL);
    EXPECT_EQ(b.connection.disconnect({}, b.now, b.sink).error().code, EINVAL);
    EXPECT_EQ(b.connection.load_alternate({}, {}, b.now, b.sink).error().code, EINVAL);
    EXPECT_EQ(b.connection.reply_alternate({}, b.now, b.sink).error().code, EINVAL);
    b.establish();
    EXPECT_EQ(b.connection.disconnect(PrivateData(221), b.now, b.sink).error().code, EINVAL);
    EXPECT_TRUE(b.connection.disconnect(PrivateData(220), b.now, b.sink));
}

TEST(Connection, PeerToPeerIgnoresInvalidServiceIdReject) {
    Bench b;
    b.connect(true);
    b.receive(wire::CmRej{.reason = wire::CmRejectReason::invalid_service_id}, 0x11, false);
    EXPECT_EQ(b.connection.state(), ConnectionState::req_sent);
    b.receive(wire::CmRej{.reason = wire::CmRejectReason::no_resources}, 0x11, false);
    EXPECT_EQ(b.connection.state(), ConnectionState::idle);
}

TEST(Connection, UseBeforeRtuEstablishes) {
    Bench b;
    const auto mad = make_mad(wire::CmReq{.local_id = 0x22, .qpn = wire::Qpn{6}}, 0x22);
    b.connection.accept(*ReceivedMessage::parse(mad), b.from, b.now);
    ASSERT_TRUE(b.connection.reply({.qpn = wire::Qpn{5}}, b.now, b.sink));
    EXPECT_TRUE(b.connection.established(b.now));
    b.receive(wire::CmRtu{}, 0x22);
    EXPECT_TRUE(b.sink.reported.empty());
    EXPECT_FALSE(b.connection.deadline());
}

}  // namespace
}  // namespace verbline::cm
