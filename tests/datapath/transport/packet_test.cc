// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/transport/packet.h"

#include <array>

#include <gtest/gtest.h>

#include "tests/support/eal.h"
#include "tests/support/packet.h"

namespace verbline::transport {
namespace {

std::optional<PacketFault> parse(rte_mbuf& mbuf, const link::Arrival& arrival, Packet& packet) {
    packet.mbuf = &mbuf;
    packet.arrival = arrival;
    return transport::parse(packet);
}

constexpr std::uint32_t bth_at = 42;

/// A frame of RoCE v2 over IPv4 with this BTH and `rest` bytes behind it; only what `parse` looks at is there.
test::Packet frame_of(const wire::Bth& bth, std::size_t rest) {
    test::ByteVector bytes(bth_at);
    bytes.resize(bth_at + wire::Bth::size);
    bth.emit(std::span(bytes).last<wire::Bth::size>());
    const auto data = test::pattern(rest);
    bytes.insert(bytes.end(), data.begin(), data.end());
    bytes.resize(bytes.size() + wire::icrc_size);
    return test::make_packet(bytes);
}
link::Arrival arrival_of(std::size_t rest) {
    return {.network_at = 14, .bth_at = bth_at, .end = static_cast<std::uint32_t>(bth_at + wire::Bth::size + rest)};
}

TEST(BthWords, AreWhatTheBthEmits) {
    for (unsigned i = 0; i < 64; ++i) {
        const wire::Bth bth{.opcode = static_cast<std::uint8_t>(i * 37),
                            .solicited = (i & 1) != 0,
                            .pad = static_cast<std::uint8_t>(i >> 3 & 3),
                            .pkey = wire::PKey{static_cast<std::uint16_t>(0x8000 + i)},
                            .becn = (i & 2) != 0,
                            .dest = wire::Qpn{0xabcdef - i},
                            .ack_request = (i & 4) != 0,
                            .psn = wire::Psn(0xfffff8 + i)};
        std::array<std::byte, wire::Bth::size> ours, theirs;
        BthWords{bth.opcode, bth.solicited, bth.ack_request, bth.becn, bth.pad, bth.pkey, bth.dest, bth.psn}.emit(ours);
        bth.emit(theirs);
        EXPECT_EQ(ours, theirs) << i;
    }
}

TEST(Packet, IsTakenApart) {
    const wire::Bth bth{.opcode = 0x2b,
                        .solicited = true,
                        .pad = 3,
                        .pkey = wire::PKey{0x1234},
                        .dest = wire::Qpn{0x56789a},
                        .ack_request = true,
                        .psn = wire::Psn(0xfedcba)};
    const auto frame = frame_of(bth, 20 + 8);
    Packet packet;
    ASSERT_EQ(parse(*frame, arrival_of(20 + 8), packet), std::nullopt);
    EXPECT_EQ(packet.operation(), Operation::write);
    EXPECT_TRUE(packet.traits->immediate);
    EXPECT_TRUE(packet.solicited && packet.ack_request);
    EXPECT_EQ(packet.pkey, bth.pkey);
    EXPECT_EQ(packet.destination, bth.dest);
    EXPECT_EQ(packet.psn, bth.psn);
    EXPECT_EQ(packet.headers.size(), 20u);
    ASSERT_EQ(packet.payload.size(), 5u);
    EXPECT_EQ(packet.payload.data(), packet.frame().data() + bth_at + wire::Bth::size + 20);
}

TEST(Packet, SkipsTheXrcethOfRequestsAlone) {
    Packet packet;
    const auto request = frame_of({.opcode = 0xac}, 20);
    ASSERT_EQ(parse(*request, arrival_of(20), packet), std::nullopt);
    EXPECT_EQ(packet.after_xrceth().size(), 16u);
    const auto answer = frame_of({.opcode = 0xb1}, 4);
    ASSERT_EQ(parse(*answer, arrival_of(4), packet), std::nullopt);
    EXPECT_EQ(packet.after_xrceth().size(), 4u);
}

TEST(Packet, IsRefusedForItsLength) {
    for (const auto opcode : {0x06, 0x0c, 0x13, 0x1c, 0x65, 0xac}) {
        const auto headers = opcode_table[static_cast<std::uint8_t>(opcode)].headers;
        for (std::uint8_t pad = 0; pad < 4; ++pad) {
            const auto frame = frame_of({.opcode = static_cast<std::uint8_t>(opcode), .pad = pad}, headers);
            Packet packet;
            EXPECT_EQ(parse(*frame, arrival_of(headers), packet),
                      pad == 0 ? std::nullopt : std::optional(PacketFault::length));
            EXPECT_EQ(parse(*frame, arrival_of(headers - 4u), packet), PacketFault::length);
        }
    }
}

TEST(Packet, IsRefusedForItsOpcode) {
    Packet packet;
    for (const auto opcode : {0x15, 0x1f, 0x40, 0x60, 0x80, 0xc0, 0xff}) {
        const auto frame = frame_of({.opcode = static_cast<std::uint8_t>(opcode)}, 64);
        EXPECT_EQ(parse(*frame, arrival_of(64), packet), PacketFault::opcode) << opcode;
    }
}

TEST(Padding, FillsTheWord) {
    for (std::size_t size = 0; size < 9; ++size) {
        EXPECT_EQ((size + padding_of(size)) % 4, 0u);
        EXPECT_LT(padding_of(size), 4);
    }
}

}  // namespace
}  // namespace verbline::transport
