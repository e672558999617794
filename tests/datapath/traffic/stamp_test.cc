// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/traffic/stamp.h"

#include <algorithm>
#include <array>

#include <gtest/gtest.h>

#include "datapath/traffic/frame_writer.h"
#include "tests/support/checksum.h"
#include "tests/support/packet.h"

namespace verbline::traffic {
namespace {

using test::ByteVector;

constexpr Stamp written{.run = 3, .stream = 4, .sequence = 0, .time = 0xfedc'ba98'7654'3210};

ByteVector frame(const FrameSpec& spec) {
    const auto frames = FrameTemplate::make(spec, SizeMix::parse("256").value()).value();
    FrameWriter writer(frames, {}, written.run, written.stream);
    ByteVector bytes(252);
    writer.write(bytes, written.time);
    return bytes;
}

TEST(Stamp, IsWhatWasEmitted) {
    std::array<std::byte, Stamp::size> bytes;
    const Stamp stamp{.run = 255, .stream = 1, .sequence = 0xffff'ffff'ffff, .time = 5};
    stamp.emit(bytes);
    EXPECT_EQ(Stamp::parse(bytes), stamp);
    EXPECT_FALSE(Stamp::parse(std::span(bytes).first(Stamp::size - 1)));
}

TEST(Stamp, IsLaidOutAsItsLayoutSays) {
    const Stamp stamp{.run = 0x12, .stream = 0x34, .sequence = 0x5678'9abc'def0, .time = 0x0123'4567'89ab'cdef};
    std::array<std::byte, Stamp::size> emitted, laid_out;
    stamp.emit(emitted);
    wire::write(stamp, std::span(laid_out));
    EXPECT_TRUE(std::ranges::equal(std::span(emitted).subspan(2), std::span(laid_out).subspan(2)));
}

TEST(Stamp, DamagedOneIsNone) {
    std::array<std::byte, Stamp::size> bytes;
    Stamp{.run = 1, .stream = 2, .sequence = 0x0123'4567'89ab, .time = ~std::uint64_t{0}}.emit(bytes);
    for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
        bytes[bit / 8] ^= std::byte{1} << bit % 8;
        EXPECT_FALSE(Stamp::parse(bytes)) << bit;
        bytes[bit / 8] ^= std::byte{1} << bit % 8;
    }
    EXPECT_TRUE(Stamp::parse(bytes));
    bytes.fill({});
    EXPECT_FALSE(Stamp::parse(bytes));
}

TEST(Stamp, EveryOneHasTheSameSum) {
    for (std::uint64_t number = 0; number < 200'000; number += 7) {
        std::array<std::byte, Stamp::size> bytes;
        const Stamp stamp{.run = 9, .stream = 3, .sequence = number, .time = number * 0x9e37'79b9'7f4a'7c15};
        stamp.emit(bytes);
        ASSERT_EQ(test::naive_checksum(bytes), static_cast<std::uint16_t>(~Stamp::sum));
    }
}

TEST(FindStamp, FindsItBehindAllHeaders) {
    for (const bool ipv6 : {false, true}) {
        for (const auto transport : {Transport::udp, Transport::tcp}) {
            using enum Encapsulation;
            for (const auto encapsulation : {none, roce_v1, roce_v2, ipoib}) {
                FrameSpec spec{.ipv6 = ipv6, .transport = transport, .encapsulation = encapsulation};
                EXPECT_EQ(find_stamp(frame(spec)), written);
                spec.vlan = {5};
                EXPECT_EQ(find_stamp(frame(spec)), written);
            }
        }
    }
}

TEST(FindStamp, DatagramOfAnotherOpcodeHasNone) {
    const FrameSpec spec{.encapsulation = Encapsulation::roce_v2};
    auto other = frame(spec);
    other[FrameLayout(spec).bth] = std::byte{0x04};  // RC SEND only
    EXPECT_FALSE(find_stamp(other));
}

TEST(FindStamp, FrameThatIsCutOffHasNone) {
    for (const bool ipv6 : {false, true}) {
        const FrameSpec spec{.vlan = {{5}}, .ipv6 = ipv6, .transport = Transport::tcp};
        const auto whole = frame(spec);
        const std::size_t enough = 18 + (ipv6 ? 40 : 20) + 20 + Stamp::size;
        for (std::size_t size = 0; size < enough; ++size) {
            const ByteVector part(whole.begin(),
                                  whole.begin() + static_cast<std::ptrdiff_t>(size));  // to be seen by ASan
            EXPECT_FALSE(find_stamp(part)) << size;
        }
        EXPECT_TRUE(find_stamp(std::span(whole).first(enough)));
    }
}

TEST(FindStamp, HeaderLengthsOfTheWireAreNotTrusted) {
    auto bytes = frame({.transport = Transport::tcp});
    bytes[14] = std::byte{0x4f};  // 60 bytes of IPv4 header, which the frame has: then something else is the TCP header
    EXPECT_FALSE(find_stamp(bytes));
    bytes = frame({.transport = Transport::tcp});
    bytes[46] = std::byte{0xf0};
    EXPECT_FALSE(find_stamp(bytes));
}

TEST(FindStamp, OtherFramesHaveNone) {
    auto bytes = frame({});
    bytes[42] ^= std::byte{1};  // check
    EXPECT_FALSE(find_stamp(bytes));
    bytes = frame({});
    bytes[12] = std::byte{0x88};  // EtherType
    EXPECT_FALSE(find_stamp(bytes));
    bytes = frame({});
    bytes[23] = std::byte{1};  // protocol
    EXPECT_FALSE(find_stamp(bytes));
    EXPECT_FALSE(find_stamp(test::pattern(200)));
}

}  // namespace
}  // namespace verbline::traffic
