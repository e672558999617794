// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/umad/message.h"

#include <cerrno>
#include <cstring>

#include <endian.h>

#include <gtest/gtest.h>

#include "tests/apps/libibverbs/umad/mads.h"

namespace verbline::verbs {
namespace {

std::vector<std::byte> written(HeaderLayout layout, std::size_t mad = wire::mad_size) {
    ib_user_mad_hdr header{};
    header.id = 3;
    header.timeout_ms = 100;
    header.retries = 2;
    header.qpn = htobe32(1);
    header.qkey = htobe32(0x80010000);
    header.lid = htobe16(7);
    header.sl = 4;
    header.grh_present = 1;
    header.gid[15] = 9;
    header.flow_label = htobe32(0x12345);
    header.pkey_index = 5;
    std::vector<std::byte> bytes(header_size(layout) + mad);
    std::memcpy(bytes.data(), &header, header_size(layout));
    return bytes;
}

TEST(UmadMessage, IsParsedInEitherLayout) {
    for (const auto layout : {HeaderLayout::old, HeaderLayout::with_pkey}) {
        const auto message = parse_outgoing(written(layout), layout);
        EXPECT_EQ(message.agent, 3U);
        EXPECT_EQ(message.timeout_ms, 100U);
        EXPECT_EQ(message.retries, 2U);
        EXPECT_EQ(message.to.lid, wire::Lid{7});
        EXPECT_EQ(message.to.qpn, wire::Qpn{1});
        EXPECT_EQ(message.to.qkey, wire::QKey{0x80010000});
        EXPECT_EQ(message.to.sl, 4);
        ASSERT_TRUE(message.to.route);
        EXPECT_EQ(message.to.route->gid.bytes[15], std::byte{9});
        EXPECT_EQ(message.to.route->flow_label, 0x12345U);
        EXPECT_EQ(message.to.pkey_index, layout == HeaderLayout::old ? 0 : 5);
        EXPECT_EQ(message.mad.size(), wire::mad_size);
    }
}

TEST(UmadMessage, OfAWrongLengthIsRefused) {
    for (const auto layout : {HeaderLayout::old, HeaderLayout::with_pkey}) {
        EXPECT_EQ(check_length(0, layout).error().code, EINVAL);
        EXPECT_EQ(check_length(header_size(layout) + least_written - 1, layout).error().code, EINVAL);
        EXPECT_TRUE(check_length(header_size(layout) + least_written, layout));
        EXPECT_EQ(check_length(header_size(layout) + longest_message + 1, layout).error().code, ENOMEM);
    }
}

TEST(UmadMessage, IsReadWithItsHeader) {
    Incoming message{.agent = 1, .from = {.lid = wire::Lid{8}, .qpn = wire::Qpn{1}, .pkey_index = 2}, .mad = {}};
    message.mad.resize(300);
    const auto bytes = header_of(message, HeaderLayout::with_pkey);
    ib_user_mad_hdr header{};
    std::memcpy(&header, bytes.data(), sizeof header);
    EXPECT_EQ(header.id, 1U);
    EXPECT_EQ(header.status, 0U);
    EXPECT_EQ(header.length, 364U) << "with the header";
    EXPECT_EQ(be16toh(header.lid), 8);
    EXPECT_EQ(be32toh(header.qpn), 1U);
    EXPECT_EQ(header.pkey_index, 2);
    EXPECT_EQ(header.grh_present, 0);
}

TEST(UmadMessage, ThatDoesNotFitStays) {
    Incoming message{.from = {}, .mad = std::vector<std::byte>(1000)};
    const auto at = [&](std::size_t room) { return readable(message, room, HeaderLayout::with_pkey); };
    EXPECT_EQ(at(64 + 255).error, EINVAL);
    EXPECT_EQ(at(64 + 256).error, ENOSPC);
    EXPECT_EQ(at(64 + 256).bytes, 256U) << "the first MAD, which says how long the message is";
    EXPECT_EQ(at(64 + 1000).error, 0);
    EXPECT_EQ(at(64 + 1000).bytes, 1000U);
    message.mad.resize(24);
    EXPECT_EQ(at(64 + 23).error, EINVAL);
    EXPECT_EQ(at(64 + 24).bytes, 24U);
}

}  // namespace
}  // namespace verbline::verbs
