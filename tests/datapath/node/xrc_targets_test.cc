// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/node/xrc_targets.h"

#include "datapath/link/soft_ib.h"
#include "datapath/node/member_port.h"
#include "datapath/node/wire_port.h"
#include "datapath/transport/packet.h"
#include "tests/datapath/node/ports.h"

namespace verbline::node {
namespace {

using test::bytes_of, test::ByteVector, test::member_5, test::member_6, test::our_mac, test::their_mac;
using transport::Service;
namespace opcode = transport::opcode;
using wire::Psn;

constexpr wire::Qpn target{link::own_queue_pairs + 3}, their_qpn{0x77};
constexpr Psn first{100};

/// A port of a node, its device, and what comes out of it.
template <class Port>
struct Tap {
    explicit Tap(std::unique_ptr<test::FakeNetDevice> made) : device(made.get()) { inner = std::move(made); }
    /// What the switch gets for a frame that the device receives.
    std::vector<test::Packet> receive(const ByteVector& frame) {
        device->receive(frame);
        std::array<rte_mbuf*, 8> burst;
        const auto n = port->rx_burst(0, burst);
        std::vector<test::Packet> packets;
        for (std::size_t i = 0; i < n; ++i) packets.emplace_back(burst[i]);
        return packets;
    }
    /// The frames that the node has sent by it, by a poll that receives nothing.
    std::vector<ByteVector> sent() {
        std::array<rte_mbuf*, 8> burst;
        EXPECT_EQ(port->rx_burst(0, burst), 0u);
        std::vector<ByteVector> frames;
        for (auto& packet : device->sent) frames.push_back(bytes_of(packet));
        device->sent.clear();
        return frames;
    }

    std::unique_ptr<pmd::NetDevice> inner;
    test::FakeNetDevice* device;
    std::unique_ptr<Port> port;
};

struct Bth {
    std::uint8_t opcode;
    wire::Qpn destination;
    std::uint32_t psn;
    bool ack_request;
    bool operator==(const Bth&) const = default;
};

/// Two members share a target whose peer is on the wire.
struct XrcTargetsTest : ::testing::TestWithParam<test::Way> {
    XrcTargetsTest() {
        wire_tap.port = WirePort::create(std::move(wire_tap.inner), {*queue, targets}, ours()).value();
        five.port = MemberPort::create(std::move(five.inner), {*queue, targets}, member_5, ours()).value();
        six.port = MemberPort::create(std::move(six.inner), {*queue, targets}, member_6, ours()).value();
        targets.attach(link::node_itself, *wire_tap.port);
        targets.attach(member_5, *five.port);
        targets.attach(member_6, *six.port);
        targets.start(target, {.qpn = their_qpn, .first = first, .envelope = to_peer()});
        targets.join(target, member_5, true);
        targets.join(target, member_6, true);
    }
    ~XrcTargetsTest() override {
        for (const auto member : {link::node_itself, member_5, member_6}) targets.detach(member);
    }

    static bool on_fabric() { return GetParam().from.carrier == link::Carrier::soft_ib; }
    static wire::MacAddress ours() { return on_fabric() ? link::soft_ib::mac_of(GetParam().from.lid) : our_mac; }
    static wire::MacAddress theirs() { return on_fabric() ? link::soft_ib::mac_of(GetParam().to.dlid) : their_mac; }
    static link::Envelope to_peer() { return test::envelope_of(GetParam()); }
    /// What the peer puts in front of its packets.
    static link::Envelope to_us() {
        auto from = GetParam().from;
        auto to = GetParam().to;
        std::swap(from.gid, to.dgid);
        std::swap(from.lid, to.dlid);
        from.mac = their_mac;
        return link::make_envelope(from, to, our_mac, 0xc111);
    }
    /// A packet with `headers` and some payload.
    static ByteVector packet(const link::Envelope& envelope, std::uint8_t operation, wire::Qpn to, Psn psn,
                             const ByteVector& headers, std::size_t payload = 32) {
        auto frame = test::frame_on(envelope, headers.size() + payload,
                                    {.opcode = opcode::of(Service::xrc, operation), .dest = to, .psn = psn});
        std::ranges::copy(headers, frame.begin() + envelope.size + wire::Bth::size);
        test::seal_frame(frame, envelope, 0x1234);
        return frame;
    }
    static ByteVector send(std::uint32_t psn, link::MemberId member, std::uint8_t operation = opcode::send_only) {
        ByteVector xrceth(wire::XrcEth::size);
        wire::store32(xrceth, 0, link::first_qpn(member) + 1);
        return packet(to_us(), operation, target, first + psn, xrceth);
    }
    static ByteVector ack(std::uint32_t psn, std::uint32_t msn, wire::Aeth aeth = {.value = wire::credits_invalid}) {
        ByteVector bytes(wire::Aeth::size);
        aeth.msn = msn;
        aeth.emit(std::span(bytes).first<wire::Aeth::size>());
        return to_node(packet(to_peer(), opcode::acknowledge, target, first + psn, bytes, 0));
    }
    /// As members send their answers.
    static ByteVector to_node(ByteVector frame) {
        if (on_fabric()) return frame;
        return test::with_macs(std::move(frame), link::mac_of(link::node_itself), our_mac);
    }
    static Bth bth_of(const ByteVector& frame) {
        const auto arrival = test::open_frame(frame);
        EXPECT_TRUE(arrival) << "with a valid ICRC";
        if (!arrival) return {};
        const auto bth = *wire::Bth::parse(wire::Bytes(frame).subspan(arrival->bth_at));
        return {bth.opcode, bth.dest, (bth.psn.value() - first.value()) & 0xff'ffff, bth.ack_request};
    }
    static std::uint32_t msn_of(const ByteVector& frame) {
        const auto arrival = test::open_frame(frame);
        return wire::Aeth::parse(wire::Bytes(frame).subspan(arrival->bth_at + wire::Bth::size))->msn;
    }
    std::uint64_t counter(std::string_view name) { return test::counter(targets, name); }

    const int eal = (test::packet_pool(), 0);
    std::unique_ptr<GsiQueue> queue = GsiQueue::create("test.gsi").value();
    int wakes = 0;
    XrcTargets targets{test::packet_pool(), [this] { ++wakes; }};
    Tap<WirePort> wire_tap{std::make_unique<test::FakeNetDevice>()};
    Tap<MemberPort> five{std::make_unique<test::FakeNetDevice>()}, six{std::make_unique<test::FakeNetDevice>()};
};

TEST_P(XrcTargetsTest, ARequestGoesToTheMemberWithTheQueueAndItsAnswerToThePeer) {
    EXPECT_TRUE(wire_tap.receive(send(0, member_6)).empty()) << "past the switch";
    EXPECT_EQ(wakes, 1);
    EXPECT_TRUE(five.sent().empty());
    const auto requests = six.sent();
    ASSERT_EQ(requests.size(), 1u);
    EXPECT_EQ(wire::Ethernet::parse(requests[0])->destination, link::mac_of(member_6));
    EXPECT_EQ(bth_of(requests[0]), (Bth{opcode::of(Service::xrc, opcode::send_only), target, 0, true}));
    const auto answers = six.receive(ack(0, 1));
    ASSERT_EQ(answers.size(), 1u);
    EXPECT_EQ(test::destination_of(answers[0]), theirs());
    EXPECT_EQ(bth_of(bytes_of(answers[0])), (Bth{opcode::of(Service::xrc, opcode::acknowledge), their_qpn, 0, false}));
    EXPECT_EQ(msn_of(bytes_of(answers[0])), 1u);
}

TEST_P(XrcTargetsTest, MessagesForSeveralMembersArriveInTheirOrder) {
    for (std::uint32_t psn = 0; psn < 4; ++psn) wire_tap.receive(send(psn, psn % 2 == 0 ? member_5 : member_6));
    for (std::uint32_t round = 0; round < 2; ++round) {
        for (auto* const member : {&five, &six}) {
            auto* const other = member == &five ? &six : &five;
            EXPECT_TRUE(other->sent().empty()) << "its turn has not come";
            const auto requests = member->sent();
            ASSERT_EQ(requests.size(), 1u);
            EXPECT_EQ(bth_of(requests[0]).psn, round) << "of its leg";
            const auto answers = member->receive(ack(round, round + 1));
            ASSERT_EQ(answers.size(), 1u);
            const auto of_connection = 2 * round + (member == &five ? 0 : 1);
            EXPECT_EQ(bth_of(bytes_of(answers[0])).psn, of_connection);
            EXPECT_EQ(msn_of(bytes_of(answers[0])), of_connection + 1);
        }
    }
    EXPECT_EQ(counter("xrc_held"), 3u);
}

TEST_P(XrcTargetsTest, OnlyTheEndOfAMessageAsksForAnAck) {
    wire_tap.receive(send(0, member_5, opcode::send_first));
    wire_tap.receive(send(1, member_5, opcode::send_middle));
    wire_tap.receive(send(2, member_5, opcode::send_last));
    const auto requests = five.sent();
    ASSERT_EQ(requests.size(), 3u);
    for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(bth_of(requests[i]).ack_request, i == 2);
}

TEST_P(XrcTargetsTest, ADamagedPacketIsItsReceiversToFind) {
    auto frame = send(0, member_5);
    frame[frame.size() - wire::icrc_size - 8] ^= std::byte{1};
    wire_tap.receive(frame);
    const auto requests = five.sent();
    if (on_fabric()) {
        EXPECT_EQ(counter("xrc_dropped_malformed"), 1u) << "where each link checks the VCRC";
        return;
    }
    ASSERT_EQ(requests.size(), 1u);
    EXPECT_FALSE(test::open_frame(requests[0]));
}

TEST_P(XrcTargetsTest, TheSameNumberElsewhereIsNoneOfOurs) {
    ByteVector xrceth(wire::XrcEth::size);
    EXPECT_EQ(five.receive(packet(to_peer(), opcode::send_only, target, first, xrceth)).size(), 1u);
    const ByteVector aeth(wire::Aeth::size);
    const auto others = five.receive(packet(to_peer(), opcode::acknowledge, target, first, aeth, 0)).size();
    EXPECT_EQ(others, on_fabric() ? 0u : 1u) << "on a fabric all answers to such numbers are the node's to pass";
}

TEST_P(XrcTargetsTest, AGapIsReportedToThePeerByTheNode) {
    wire_tap.receive(send(1, member_5));
    const auto naks = wire_tap.sent();
    ASSERT_EQ(naks.size(), 1u);
    EXPECT_EQ(bth_of(naks[0]), (Bth{opcode::of(Service::xrc, opcode::acknowledge), their_qpn, 0, false}));
    EXPECT_EQ(counter("xrc_naks"), 1u);
}

TEST_P(XrcTargetsTest, APeerOnThisNodeHasItsAnswersByItsOwnPort) {
    // Member 6 has connected to the target from the port's own address.
    auto own = GetParam();
    own.to.dgid = own.from.gid;
    own.to.dlid = own.from.lid;
    const auto envelope = link::make_envelope(own.from, own.to, our_mac, 0xc111);
    const wire::Qpn initiator{link::first_qpn(member_6) + 9};
    targets.start(target, {.qpn = initiator, .first = first, .envelope = envelope, .port = member_6});
    targets.join(target, member_5, true);
    ByteVector xrceth(wire::XrcEth::size);
    wire::store32(xrceth, 0, link::first_qpn(member_5) + 1);
    EXPECT_TRUE(six.receive(packet(envelope, opcode::send_only, target, first, xrceth)).empty());
    ASSERT_EQ(five.sent().size(), 1u);
    ByteVector aeth(wire::Aeth::size);
    const auto answers = five.receive(to_node(packet(envelope, opcode::acknowledge, target, first, aeth, 0)));
    ASSERT_EQ(answers.size(), 1u);
    EXPECT_EQ(test::destination_of(answers[0]), link::mac_of(member_6)) << "by the switch";
    EXPECT_EQ(bth_of(bytes_of(answers[0])).destination, initiator);
    six.receive(packet(envelope, opcode::send_only, target, first + 5, xrceth));
    EXPECT_EQ(six.sent().size(), 1u) << "the NAK for the gap";
}

TEST_P(XrcTargetsTest, AMemberCannotSpeakForThePeer) {
    auto frame = test::with_macs(send(0, member_6), ours(), ours());
    EXPECT_TRUE(five.receive(frame).empty());
    EXPECT_EQ(counter("xrc_dropped_unknown"), 1u) << "its packets come by the link's port";
    EXPECT_TRUE(six.sent().empty());
}

TEST_P(XrcTargetsTest, SomethingMayBeHeldAllTheTime) {
    // For two members in turn, longer than the queue of those held.
    std::uint32_t sent = 0, of_five = 0, of_six = 0;
    const auto request = [&] { wire_tap.receive(send(sent, sent % 2 == 0 ? member_5 : member_6)), ++sent; };
    for (int i = 0; i < 20; ++i) request();
    for (std::uint32_t answered = 0; answered < 2000; ++answered) {
        auto& member = answered % 2 == 0 ? five : six;
        auto& own = answered % 2 == 0 ? of_five : of_six;
        ASSERT_EQ(member.sent().size(), 1u) << answered;
        ASSERT_EQ(member.receive(ack(own, own + 1)).size(), 1u);
        ++own;
        request();
    }
    EXPECT_EQ(counter("xrc_dropped_full"), 0u);
}

TEST_P(XrcTargetsTest, WhatIsNotThePeersOrNoXrcIsDropped) {
    auto from = GetParam().from;
    auto to = GetParam().to;
    std::swap(from.gid, to.dgid);
    from.gid.bytes[15] ^= std::byte{0x20};
    from.lid = wire::Lid{9}, to.dlid = GetParam().from.lid;
    ByteVector xrceth(wire::XrcEth::size);
    wire_tap.receive(packet(link::make_envelope(from, to, our_mac, 0xc111), opcode::send_only, target, first, xrceth));
    EXPECT_EQ(counter("xrc_dropped_unknown"), 1u);
    wire_tap.receive(packet(to_us(), opcode::send_only, wire::Qpn{link::own_queue_pairs + 4}, first, xrceth));
    EXPECT_EQ(counter("xrc_dropped_unknown"), 2u) << "another number";
    wire_tap.receive(test::frame_on(to_us(), 32, {.opcode = opcode::send_only, .dest = target}));
    const ByteVector aeth(wire::Aeth::size);
    wire_tap.receive(packet(to_us(), opcode::acknowledge, target, first, aeth, 0));
    EXPECT_EQ(counter("xrc_dropped_malformed"), 2u);
    EXPECT_TRUE(five.receive(ack(0, 1)).empty());
    EXPECT_EQ(counter("xrc_dropped_answer"), 1u) << "it was asked for nothing";
    EXPECT_TRUE(five.sent().empty());
    EXPECT_TRUE(wire_tap.sent().empty());
}

TEST_P(XrcTargetsTest, TheEndOfAMemberWithRequestsUnderWayIsToldToThePeerAndTheOthers) {
    wire_tap.receive(send(0, member_5));
    wire_tap.receive(send(1, member_6));
    EXPECT_TRUE(targets.take_failures().empty());
    targets.detach(member_5);
    EXPECT_EQ(wire_tap.sent().size(), 1u);
    const auto failures = targets.take_failures();
    ASSERT_EQ(failures.size(), 1u);
    EXPECT_EQ(failures[0], (XrcTargets::Failure{target, wire::NakCode::remote_operational}));
    EXPECT_TRUE(targets.take_failures().empty()) << "told once";
    EXPECT_TRUE(six.sent().empty());
}

TEST_P(XrcTargetsTest, HeldRequestsEndWithTheTarget) {
    wire_tap.receive(send(0, member_5));
    for (std::uint32_t psn = 1; psn < 20; ++psn) wire_tap.receive(send(psn, member_6));
    targets.stop(target);
    EXPECT_TRUE(six.sent().empty());  // and the pool's check finds no packet missing
}

TEST_P(XrcTargetsTest, AFullPortKeepsWhatWaits) {
    five.device->tx_room = 0;
    for (std::uint32_t psn = 0; psn < 40; ++psn) wire_tap.receive(send(psn, member_5));
    EXPECT_TRUE(five.sent().empty());
    five.device->tx_room = 1000;
    EXPECT_EQ(five.sent().size(), 40u);
}

INSTANTIATE_TEST_SUITE_P(, XrcTargetsTest, ::testing::ValuesIn(test::ways()),
                         [](const auto& way) { return way.param.name; });

}  // namespace
}  // namespace verbline::node
