// SPDX-License-Identifier: BSD-3-Clause
#include "control/rdmacm/incoming_request.h"

#include <gtest/gtest.h>

#include "datapath/wire/ip_cm_header.h"
#include "tests/control/rdmacm/two_hosts.h"

namespace verbline::rdmacm {
namespace {

using namespace test;

TEST(PrivateHeader, RoundTrip) {
    for (const auto& [source, destination] :
         {std::pair{ipv4(10, 0, 0, 1, 4711), ipv4(10, 0, 0, 2)}, std::pair{ipv6(0xfd00, 1, 4711), ipv6(0xfd00, 2)}}) {
        const cm::PrivateData user{std::byte{1}, std::byte{2}};
        const auto data = with_header(source, destination, user, request_data_size).value();
        EXPECT_EQ(data.size(), 38u);
        const auto ends = parse_header(data);
        ASSERT_TRUE(ends);
        EXPECT_EQ(ends->source, source);
        EXPECT_EQ(ends->destination, destination);
        EXPECT_EQ(without_header(data), user);
    }
}

TEST(PrivateHeader, AfIbSendsNone) {
    const SocketAddress ib{.family = Family::ib, .gid = ipv6(0xfe80, 1).gid};
    EXPECT_TRUE(with_header(ib, ib, {}, request_data_size)->empty());
    EXPECT_TRUE(with_header(ib, ib, cm::PrivateData(92), request_data_size));
    EXPECT_EQ(with_header(ib, ib, cm::PrivateData(93), request_data_size).error().code, EINVAL);
}

TEST(PrivateHeader, BoundsUserDataBySpaceLeft) {
    EXPECT_TRUE(with_header(any4(), any4(), cm::PrivateData(56), request_data_size));
    EXPECT_FALSE(with_header(any4(), any4(), cm::PrivateData(57), request_data_size));
    EXPECT_TRUE(with_header(any4(), any4(), cm::PrivateData(180), service_request_data_size));
    EXPECT_FALSE(with_header(any4(), any4(), cm::PrivateData(181), service_request_data_size));
}

TEST(PrivateHeader, RejectsTruncatedAndUnknownVersions) {
    const auto good = with_header(any4(1), any4(), {}, request_data_size).value();
    for (std::size_t size = 0; size < good.size(); ++size) EXPECT_FALSE(parse_header(std::span(good).first(size)));
    for (unsigned version = 0; version < 16; ++version) {
        auto data = good;
        data[1] = static_cast<std::byte>(version << 4);
        EXPECT_EQ(parse_header(data).has_value(), version == 4 || version == 6);
        data[0] = std::byte{0x10};
        EXPECT_FALSE(parse_header(data)) << "another version of the header";
    }
    EXPECT_TRUE(without_header(std::span(good).first(20)).empty());
}

}  // namespace
}  // namespace verbline::rdmacm
