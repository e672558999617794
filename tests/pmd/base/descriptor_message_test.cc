// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/base/descriptor_message.h"

#include <array>
#include <cerrno>

#include <gtest/gtest.h>

#include "tests/support/unix_socket.h"

namespace verbline {
namespace {

constexpr std::array word{std::byte{1}, std::byte{2}, std::byte{3}};

struct DescriptorMessageTest : ::testing::Test {
    DescriptorMessageTest() { std::tie(one, other) = test::socket_pair(); }
    DescriptorMessage receive() { return receive_with_descriptor(other.get(), buffer); }

    FileDescriptor one, other;
    std::array<std::byte, 3> buffer{};
};

TEST_F(DescriptorMessageTest, CarriesOneDescriptorOrNone) {
    ASSERT_EQ(send_with_descriptor(one.get(), word, -1), 3);
    ASSERT_EQ(send_with_descriptor(one.get(), word, one.get()), 3);
    const auto plain = receive();
    EXPECT_EQ(plain.size, 3);
    EXPECT_TRUE(plain.whole);
    EXPECT_FALSE(plain.descriptor);
    EXPECT_EQ(buffer, word);
    const auto with = receive();
    EXPECT_TRUE(with.whole);
    ASSERT_TRUE(with.descriptor);
    ASSERT_EQ(send(with.descriptor.get(), word.data(), 1, 0), 1) << "a copy of the other end";
    EXPECT_EQ(receive().size, 1);
}

TEST_F(DescriptorMessageTest, IsNotWholeWithTwoDescriptorsOrTooLong) {
    const std::array two{one.get(), other.get()};
    ASSERT_TRUE(test::send_packet(one, word, two));
    auto received = receive();
    EXPECT_FALSE(received.whole);
    EXPECT_FALSE(received.descriptor);
    ASSERT_TRUE(test::send_packet(one, std::array<std::byte, 4>{}, std::span(two).first(1)));
    received = receive();
    EXPECT_FALSE(received.whole);
    EXPECT_FALSE(received.descriptor);
}

TEST_F(DescriptorMessageTest, DistinguishesEmptyQueueFromEndOfStream) {
    EXPECT_EQ(receive().size, -1);
    EXPECT_EQ(errno, EAGAIN);
    one = {};
    EXPECT_EQ(receive().size, 0);
    EXPECT_EQ(send_with_descriptor(other.get(), word, -1), -1);
}

}  // namespace
}  // namespace verbline
