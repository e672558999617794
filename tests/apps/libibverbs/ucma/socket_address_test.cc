// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/ucma/socket_address.h"

#include <sys/socket.h>

#include <gtest/gtest.h>

#include "datapath/wire/text.h"

namespace verbline::verbs {
namespace {

using rdmacm::Family;
using rdmacm::SocketAddress;

wire::Gid gid(const char* text) {
    return *wire::from_string<wire::Gid>(text);
}

TEST(SocketAddresses, ComeBackAsTheyWere) {
    const SocketAddress addresses[] = {
        {.family = Family::ipv4, .gid = gid("::ffff:10.9.0.1"), .port = 7174},
        {.family = Family::ipv6, .gid = gid("fd09::1"), .port = 7174, .flow_label = 5, .scope_id = 3},
        {.family = Family::ib,
         .gid = gid("fe80::2"),
         .port = 0x1c06,
         .service_id = 0x01061c06,
         .service_mask = ~std::uint64_t{0},
         .pkey = wire::PKey{0x8001}},
    };
    for (const auto& address : addresses) {
        const auto storage = to_storage(address);
        EXPECT_EQ(size_of(storage), size_of(address));
        EXPECT_EQ(*to_address(storage, size_of(address)), address);
        EXPECT_FALSE(to_address(storage, size_of(address) - 1));
        EXPECT_FALSE(to_address(storage, 0));
    }
}

TEST(SocketAddresses, OfOtherFamiliesAreRefused) {
    SocketAddressStorage storage{};
    for (const unsigned family : {0u, 1u, 11u, 0xffffu}) {
        storage.ss_family = static_cast<unsigned short>(family);
        EXPECT_EQ(size_of(storage), 0u);
        EXPECT_EQ(to_address(storage, 16).error().code, EINVAL);
    }
}

TEST(SocketAddresses, AnyAddressIsAny) {
    SocketAddressStorage storage{};
    storage.ss_family = AF_INET;
    EXPECT_TRUE(to_address(storage, 16)->any());
    storage.ss_family = AF_INET6;
    EXPECT_TRUE(to_address(storage, 28)->any());
}

TEST(SocketAddresses, OfInfinibandDoNotFitWhereIpAddressesDo) {
    EXPECT_EQ(to_ip_storage(infiniband_address(gid("fe80::2"), wire::PKey{1}, wire::CmServiceId{})).sin6_family, 0);
}

}  // namespace
}  // namespace verbline::verbs
