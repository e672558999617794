// SPDX-License-Identifier: BSD-3-Clause
#include "control/hub/protocol.h"

#include <cerrno>
#include <cstring>

#include <gtest/gtest.h>

#include "datapath/link/member.h"
#include "tests/control/hub/address.h"

namespace verbline::hub {
namespace {

constexpr wire::MacAddress mac{{std::byte{6}, std::byte{0x76}, std::byte{10}, std::byte{99}, {}, std::byte{1}}};
constexpr wire::MacAddress multicast_mac{{std::byte{1}, {}, std::byte{0x5e}, {}, std::byte{1}, std::byte{1}}};

constexpr wire::Qpn target_number{link::own_queue_pairs + 5};

XrcTarget connected_target() {
    return {.domain = XrcDomainId{3},
            .qpn = target_number,
            .change = 7,
            .state = XrcTargetState::rts,
            .access = 0x1f,
            .pkey_index = 2,
            .peer = wire::Qpn{0x12'3456},
            .first = wire::Psn{0xff'fffe},
            .mtu = 4096,
            .max_reads = 16,
            .rnr_timer = 31,
            .source = address("10.1.0.1/24").gid,
            .roce_v1 = true,
            .to = {.sl = 3,
                   .global = true,
                   .dgid = address("10.1.0.2/24").gid,
                   .hop_limit = 64,
                   .traffic_class = 0x68,
                   .flow_label = 0xf'ffff},
            .mac = mac};
}
/// By LID alone.
XrcTarget target_on_fabric() {
    auto target = connected_target();
    target.to = {.dlid = wire::Lid{0x1234}, .sl = 3};
    target.mac = {};
    return target;
}

sa::Group group() {
    return {.mlid = wire::Lid{0xc001},
            .qkey = wire::QKey{0xb1b},
            .pkey = wire::PKey{0xffff},
            .mtu = wire::IbMtu::bytes_2048,
            .rate = 3,
            .lifetime = 18,
            .service_level = 15,
            .hop_limit = 255,
            .traffic_class = 0xb8,
            .flow_label = 0xf'ffff};
}

SubnetPort subnet_port() {
    return {.facts = {.lid = wire::Lid{0xbfff},
                      .sm_lid = wire::Lid{1},
                      .sm_sl = 15,
                      .lmc = 7,
                      .guid = wire::Guid{0x1234'5678'9abc'def0},
                      .node_guid = wire::Guid{0x1234'5678'9abc'def1},
                      .capabilities = wire::port_capability::client_reregistration,
                      .subnet_prefix = 0xfec0'0000'0000'0001,
                      .pkeys = std::vector<wire::PKey>(max_pkeys, wire::PKey{0x7fff}),
                      .state = wire::PortState::active,
                      .mtu = 4096},
            .reregistrations = 0x1234'5678,
            .broadcast = group()};
}

wire::PathRecord path_record() {
    return {.destination_gid = address("fe80::10:3/64").gid,
            .source_gid = address("fe80::10:2/64").gid,
            .destination_lid = wire::Lid{3},
            .source_lid = wire::Lid{2},
            .hop_limit = 1,
            .reversible = true,
            .path_count = 1,
            .pkey = wire::PKey{0x8001},
            .mtu = wire::IbMtu::bytes_2048,
            .rate = 3,
            .lifetime = 18};
}

std::vector<Message> one_of_each() {
    const PortUse bound{.family = rdmacm::Family::ib, .address = address("fd00::1/64").gid, .only_its_family = false};
    return {Join{mac, {address("10.0.0.1/24"), address("fd00::1/64")}, "ib_send_bw"},
            Join{{}, {}, ""},
            Join{mac, {*link::parse_ipoib_address("10.8.0.1/24%0x8001")}, "ib_send_bw"},
            Granted{"/run/lane-0.sock", mac, {address("10.99.0.1/16")}, 4200},
            Refused{EADDRINUSE, "address in use"},
            GroupMembership{multicast_mac, true},
            GroupMembership{multicast_mac, false},
            Done{},
            Reserve{0x0106, 0},
            Reserve{0x0106, 4791},
            Reserved{65535},
            Release{0x0111, 7174},
            Reserve{0x0106, 7174, bound},
            Release{0x0106, 7174, PortUse{.reuse = true}},
            Rebind{0x0106, 7174, bound, bound.as_listener()},
            Join{mac, {}, "takes offers", true},
            Direct{mac},
            DirectGranted{mac, DirectId{1}},
            DirectRefused{mac, EPERM},
            DirectOffer{mac, DirectId{0xffff'ffff}},
            DirectEnd{DirectId{7}},
            OpenXrcDomain{.create = true},
            OpenXrcDomain{.exclusive = true},
            XrcDomainOpened{XrcDomainId{3}},
            CloseXrcDomain{XrcDomainId{3}},
            CreateXrcTarget{XrcDomainId{3}},
            XrcTargetMade{target_number},
            OpenXrcTarget{XrcDomainId{3}, wire::Qpn{0xff'ffff}},
            CloseXrcTarget{target_number},
            XrcTarget{.domain = XrcDomainId{3},
                      .qpn = target_number,
                      .change = 1,
                      .state = XrcTargetState::init,
                      .to = {.global = true}},
            connected_target(),
            target_on_fabric(),
            XrcTargetTaken{target_number, 0x1234'5678},
            AskSubnetPort{},
            SubnetPort{.facts = {.lid = wire::Lid{3}, .mtu = 2048}, .broadcast = std::nullopt},
            subnet_port(),
            FindNeighbour{address("10.1.0.9/24").gid},
            NeighbourFound{address("10.1.0.9/24").gid, address("fe80::10:3/64").gid, 0},
            NeighbourFound{address("10.1.0.9/24").gid, {}, EHOSTUNREACH},
            FindNeighbour{address("10.1.0.9/24").gid, wire::PKey{0x8001}},
            NeighbourFound{address("10.1.0.9/24").gid, {}, EHOSTUNREACH, wire::PKey{0x8001}},
            FindPath{address("fe80::10:3/64").gid, wire::PKey{0x8001}},
            PathFound{address("fe80::10:3/64").gid, wire::PKey{0x8001}, path_record(), 0},
            PathFound{address("fe80::10:3/64").gid, wire::PKey{0x8001}, {}, ETIMEDOUT},
            JoinSubnetGroup{.mgid = address("fe80::1/64").gid, .user = 5},
            JoinSubnetGroup{.mgid = address("fe80::1/64").gid,
                            .user = 6,
                            .send_only = true,
                            .pkey = wire::PKey{0x8001},
                            .qkey = wire::QKey{7}},
            SubnetGroup{address("fe80::1/64").gid, 5, group(), 0},
            SubnetGroup{address("fe80::1/64").gid, 5, {}, EINVAL},
            LeaveSubnetGroup{address("fe80::1/64").gid, 5}};
}

/// With one byte changed.
std::expected<Message, Malformed> decode_changed(std::vector<std::byte> bytes, std::size_t at, int value) {
    bytes.at(at) = static_cast<std::byte>(value);
    return decode(bytes);
}

// Offsets: mark 0, version 4, type 6; join: MAC 8, count 14, addresses of 17 bytes from 15.
constexpr std::size_t version_at = 4, type_at = 6, body_at = 8, count_at = 14, first_address = 15, prefix_at = 31;

TEST(HubProtocol, EncodeDecodeRoundTrip) {
    for (const auto& message : one_of_each()) {
        const auto bytes = encode(message);
        EXPECT_LE(bytes.size(), largest_message);
        EXPECT_EQ(decode(bytes), message);
    }
}

TEST(HubProtocol, EveryOtherLengthIsForeign) {
    for (const auto& message : one_of_each()) {
        auto bytes = encode(message);
        for (std::size_t n = 0; n < bytes.size(); ++n) {
            EXPECT_EQ(decode(std::span(bytes).first(n)), std::unexpected(Malformed::foreign)) << n;
        }
        bytes.push_back({});
        EXPECT_EQ(decode(bytes), std::unexpected(Malformed::foreign));
    }
}

TEST(HubProtocol, AnotherVersionIsDistinguished) {
    for (const auto& message : one_of_each()) {
        const auto changed = decode_changed(encode(message), version_at, version + 1);
        if (std::holds_alternative<Refused>(message)) {
            EXPECT_EQ(changed, message) << "the reason must reach clients of any version";
        } else {
            EXPECT_EQ(changed, std::unexpected(Malformed::other_version));
        }
        EXPECT_EQ(decode_changed(encode(message), 0, 0), std::unexpected(Malformed::foreign));
        EXPECT_EQ(decode_changed(encode(message), type_at, 99), std::unexpected(Malformed::foreign));
    }
}

TEST(HubProtocol, RejectsInvalidValues) {
    const auto join = encode(Join{mac, {address("10.0.0.1/24")}, "x"});
    ASSERT_TRUE(decode(join));
    const std::unexpected foreign(Malformed::foreign);
    EXPECT_EQ(decode_changed(join, body_at, 1), foreign) << "a group's MAC as one's own";
    EXPECT_EQ(decode_changed(join, count_at, 9), foreign) << "more addresses than there is room for";
    EXPECT_EQ(decode_changed(join, count_at, 2), foreign) << "an address of all zeros";
    EXPECT_EQ(decode_changed(join, prefix_at, 33), foreign);
    EXPECT_EQ(decode_changed(join, prefix_at, 0), foreign);
    EXPECT_EQ(decode_changed(join, first_address + 12, 224), foreign) << "a multicast address";
    EXPECT_EQ(decode_changed(join, first_address + 12, 127), foreign) << "loopback";
    EXPECT_EQ(decode_changed(join, first_address + 15, 0), foreign) << "the network itself";
    EXPECT_EQ(decode_changed(join, first_address + 15, 255), foreign) << "its broadcast address";

    const auto granted = encode(Granted{"s", mac, {}, 4200});
    EXPECT_EQ(decode(encode(Granted{"", mac, {}, 4200})), foreign);
    EXPECT_EQ(decode(encode(Granted{"s", {}, {}, 4200})), foreign);
    EXPECT_EQ(decode(encode(Granted{"s", mac, {}, 0})), foreign);
    EXPECT_EQ(decode_changed(granted, body_at, 1), foreign);
    EXPECT_EQ(decode(encode(Refused{0, "no error"})), foreign);
    EXPECT_EQ(decode(encode(GroupMembership{mac, true})), foreign) << "no group";
    EXPECT_EQ(decode(encode(GroupMembership{wire::broadcast_mac, true})), foreign);
    EXPECT_EQ(decode_changed(encode(GroupMembership{multicast_mac, true}), 14, 2), foreign);
    EXPECT_EQ(decode(encode(Reserved{0})), foreign) << "no port";
    EXPECT_EQ(decode(encode(Release{0x0106, 0})), foreign);
    EXPECT_EQ(decode(encode(Rebind{0x0106, 0})), foreign);
    constexpr std::size_t use_at = body_at + 4, flags = 4;
    for (const auto& message :
         {encode(Reserve{0x0106, 7174}), encode(Release{0x0106, 7174}), encode(Rebind{0x0106, 7174})}) {
        EXPECT_EQ(decode_changed(message, use_at, 3), foreign) << "of no family";
        for (std::size_t at = use_at + 1; at < use_at + flags; ++at) EXPECT_EQ(decode_changed(message, at, 2), foreign);
    }
    EXPECT_EQ(decode(encode(Reserve{0x0106, 7174, {.reuse = true, .listening = true}})), foreign)
        << "who listens is alone";
    EXPECT_EQ(decode(encode(Rebind{0x0106, 7174, {}, {.reuse = true, .listening = true}})), foreign);
    EXPECT_EQ(decode_changed(join, join.size() - 1, 2), foreign) << "neither takes offers nor does not";
    for (const auto& nobody : {wire::MacAddress{}, multicast_mac}) {
        EXPECT_EQ(decode(encode(Direct{nobody})), foreign);
        EXPECT_EQ(decode(encode(DirectGranted{nobody, DirectId{1}})), foreign);
        EXPECT_EQ(decode(encode(DirectOffer{nobody, DirectId{1}})), foreign);
        EXPECT_EQ(decode(encode(DirectRefused{nobody, EPERM})), foreign);
    }
    EXPECT_EQ(decode(encode(DirectGranted{mac, {}})), foreign);
    EXPECT_EQ(decode(encode(DirectOffer{mac, {}})), foreign);
    EXPECT_EQ(decode(encode(DirectEnd{})), foreign);
    EXPECT_EQ(decode(encode(DirectRefused{mac, 0})), foreign);
}

TEST(HubProtocol, RejectsSubnetsThatCannotBe) {
    const auto refused = [](const auto& change) {
        auto port = subnet_port();
        change(port);
        return !decode(encode(port));
    };
    EXPECT_FALSE(refused([](SubnetPort&) {}));
    EXPECT_TRUE(refused([](SubnetPort& port) { port.facts.lid = wire::Lid{0}; }));
    EXPECT_TRUE(refused([](SubnetPort& port) { port.facts.lid = wire::Lid{0xc000}; }));
    EXPECT_TRUE(refused([](SubnetPort& port) { port.facts.state = wire::PortState{5}; }));
    EXPECT_TRUE(refused([](SubnetPort& port) { port.facts.sm_sl = 16; }));
    EXPECT_TRUE(refused([](SubnetPort& port) { port.facts.lmc = 8; }));
    EXPECT_TRUE(refused([](SubnetPort& port) { port.broadcast->mlid = wire::Lid{0xbfff}; }));
    EXPECT_TRUE(refused([](SubnetPort& port) { port.broadcast->mtu = wire::IbMtu{6}; }));
    EXPECT_TRUE(refused([](SubnetPort& port) { port.broadcast->flow_label = 0x10'0000; }));
    EXPECT_FALSE(decode(encode(SubnetGroup{address("fe80::1/64").gid, 5, {}, 0}))) << "a group without a record";
    EXPECT_FALSE(decode(encode(PathFound{{}, {}, {}, -1})));
    EXPECT_FALSE(decode(encode(NeighbourFound{{}, {}, -1})));
}

TEST(HubProtocol, RejectsXrcTargetsThatCannotBe) {
    const auto refused = [](auto change) {
        auto target = connected_target();
        change(target);
        return decode(encode(target)) == std::unexpected(Malformed::foreign);
    };
    EXPECT_FALSE(refused([](XrcTarget&) {}));
    EXPECT_TRUE(refused([](XrcTarget& t) { t.domain = {}; }));
    EXPECT_TRUE(refused([](XrcTarget& t) { t.qpn = wire::Qpn{1}; }));
    EXPECT_TRUE(refused([](XrcTarget& t) { t.qpn = wire::Qpn{link::first_qpn(link::MemberId{1}) + 5}; }));
    EXPECT_TRUE(refused([](XrcTarget& t) { t.state = XrcTargetState{6}; }));
    EXPECT_TRUE(refused([](XrcTarget& t) { t.failure = wire::NakCode{4}; }));
    EXPECT_TRUE(refused([](XrcTarget& t) { t.peer = wire::Qpn{0x100'0000}; }));
    EXPECT_TRUE(refused([](XrcTarget& t) { t.mtu = 1000; }));
    EXPECT_TRUE(refused([](XrcTarget& t) { t.mtu = 8192; }));
    EXPECT_TRUE(refused([](XrcTarget& t) { t.rnr_timer = 32; }));
    EXPECT_TRUE(refused([](XrcTarget& t) { t.to.sl = 16; }));
    EXPECT_TRUE(refused([](XrcTarget& t) { t.to.flow_label = 0x10'0000; }));
    EXPECT_TRUE(refused([](XrcTarget& t) { t.mac = multicast_mac; }));
    EXPECT_TRUE(refused([](XrcTarget& t) { t.mac = {}; })) << "where it is connected";
    EXPECT_TRUE(refused([](XrcTarget& t) { t.to.global = false; })) << "on Ethernet";
    EXPECT_TRUE(refused([](XrcTarget& t) { t.to.dlid = wire::Lid{0xc001}; })) << "a group";
    EXPECT_FALSE(refused([](XrcTarget& t) { t.mac = {}, t.to.global = false, t.to.dlid = wire::Lid{3}; }));
    EXPECT_FALSE(refused([](XrcTarget& t) { t.mac = {}, t.mtu = 0, t.state = XrcTargetState::reset; }));
    const std::unexpected foreign(Malformed::foreign);
    EXPECT_EQ(decode(encode(CreateXrcTarget{})), foreign);
    EXPECT_EQ(decode(encode(CloseXrcTarget{wire::Qpn{1}})), foreign);
    EXPECT_EQ(decode_changed(encode(OpenXrcDomain{}), body_at, 2), foreign);
}

TEST(HubProtocol, TextsAreBoundedAndHarmless) {
    const auto join = decode(encode(Join{{}, {}, "evil\n\033[2J\xff" + std::string(100, 'x')}));
    ASSERT_TRUE(join);
    const auto& program = std::get<Join>(*join).program;
    EXPECT_EQ(program, "evil??[2J?" + std::string(max_program - 10, 'x'));
    const auto refused = decode(encode(Refused{1, std::string(1000, 'y')}));
    ASSERT_TRUE(refused);
    EXPECT_EQ(std::get<Refused>(*refused).reason, std::string(max_reason, 'y'));
}

TEST(HubProtocol, NoMoreAddressesThanThereIsRoomFor) {
    const std::vector<InterfaceAddress> many(20, address("10.0.0.1/24"));
    const auto join = decode(encode(Join{{}, many, ""}));
    ASSERT_TRUE(join);
    EXPECT_EQ(std::get<Join>(*join).addresses.size(), max_addresses);
}

}  // namespace
}  // namespace verbline::hub
