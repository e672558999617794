// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/memory/grant.h"

#include <limits>

#include <gtest/gtest.h>

#include "tests/datapath/memory/names.h"

namespace verbline::memory {
namespace {

constexpr wire::RKey granted_key{0x12345678};

Grant region(std::uint64_t iova = 0x5000, std::uint64_t length = 0x1000,
             Access rights = Access::remote_read | Access::remote_write) {
    return {granted_key, rights | usable | by_local_key, pd, any_qpn, 0x7000'0000, iova, length};
}

std::expected<std::byte*, Fault> resolve(const Grant& grant, std::uint64_t address, std::uint64_t size,
                                         Access needed = Access::remote_read) {
    return grant.resolve(granted_key, pd, qpn, address, size, needed);
}

std::byte* pointer(std::uint64_t value) {
    return reinterpret_cast<std::byte*>(value);
}

TEST(Grant, TakesAnAddressToItsMemory) {
    EXPECT_EQ(resolve(region(), 0x5000, 0x1000), pointer(0x7000'0000));
    EXPECT_EQ(resolve(region(), 0x5fff, 1), pointer(0x7000'0fff));
    EXPECT_EQ(resolve(region(0), 8, 8), pointer(0x7000'0008));
}

TEST(Grant, NothingOutsideItsRange) {
    const auto out = std::unexpected(Fault::out_of_range);
    EXPECT_EQ(resolve(region(), 0x4fff, 1), out);
    EXPECT_EQ(resolve(region(), 0x4fff, 2), out);
    EXPECT_EQ(resolve(region(), 0x5000, 0x1001), out);
    EXPECT_EQ(resolve(region(), 0x5fff, 2), out);
    EXPECT_EQ(resolve(region(), 0x6000, 1), out);
    EXPECT_EQ(resolve(region(), 0, 1), out);
    EXPECT_EQ(resolve(region(), last, 1), out);
}

TEST(Grant, SumsThatWrapDoNotGetBackIn) {
    const auto out = std::unexpected(Fault::out_of_range);
    EXPECT_EQ(resolve(region(), 0x5001, last), out);
    EXPECT_EQ(resolve(region(), 0x5800, last - 0x800 + 1), out);
    EXPECT_EQ(resolve(region(), last, 0x5002), out);
    EXPECT_EQ(resolve(region(last - 0x1000), 0, 0), out);
    EXPECT_EQ(resolve(region(last - 0x1000), last - 1, 2), out);
    EXPECT_TRUE(resolve(region(last - 0x1000), last - 1, 1));
    // All of memory under one key, as an implicit on-demand region: even that has an end.
    EXPECT_TRUE(resolve(region(0, last), last - 1, 1));
    EXPECT_EQ(resolve(region(0, last), last, 1), out);
}

TEST(Grant, ZeroBytesOnlyAtPlacesOfItsOwn) {
    EXPECT_TRUE(resolve(region(), 0x5000, 0));
    EXPECT_TRUE(resolve(region(), 0x6000, 0));
    EXPECT_FALSE(resolve(region(), 0x6001, 0));
    EXPECT_TRUE(resolve(region(0x5000, 0), 0x5000, 0));
    EXPECT_FALSE(resolve(region(0x5000, 0), 0x5000, 1));
}

TEST(Grant, AskedForInAnotherNameItRefuses) {
    EXPECT_EQ(region().resolve(wire::RKey{0x12345679}, pd, qpn, 0x5000, 1, Access::remote_read),
              std::unexpected(Fault::unknown_key));
    EXPECT_EQ(region().resolve(granted_key, PdId{4}, qpn, 0x5000, 1, Access::remote_read),
              std::unexpected(Fault::wrong_pd));
    auto window = region();
    window.qpn = wire::Qpn{18};
    EXPECT_EQ(resolve(window, 0x5000, 1), std::unexpected(Fault::wrong_qp));
    window.qpn = qpn;
    EXPECT_TRUE(resolve(window, 0x5000, 1));
}

TEST(Grant, EveryRightIsAskedFor) {
    constexpr Access each[] = {Access::local_write,   Access::remote_write, Access::remote_read,
                               Access::remote_atomic, Access::flush_global, Access::flush_persistent};
    for (const auto held : each)
        for (const auto needed : each)
            EXPECT_EQ(resolve(region(0x5000, 1, held), 0x5000, 1, needed).has_value(), held == needed);
    const auto both = Access::remote_read | Access::remote_write;
    EXPECT_TRUE(resolve(region(), 0x5000, 1, both));
    EXPECT_EQ(resolve(region(0x5000, 1, Access::remote_read), 0x5000, 1, both), std::unexpected(Fault::no_right));
}

TEST(Grant, LocalReadingNeedsNoRightButARegion) {
    EXPECT_TRUE(resolve(region(0x5000, 1, Access::none), 0x5000, 1, Access::none));
    auto window = region();
    window.rights = Access::remote_read | Access::remote_write | usable;
    EXPECT_TRUE(resolve(window, 0x5000, 1));
    EXPECT_EQ(resolve(window, 0x5000, 1, Access::none), std::unexpected(Fault::no_right));
}

TEST(Grant, WithoutUseNothingIsGranted) {
    auto window = region();
    window.rights = Access::none;
    EXPECT_EQ(resolve(window, 0x5000, 0, Access::none), std::unexpected(Fault::not_bound));
    EXPECT_EQ(Grant{}.resolve({}, {}, {}, 0, 0, Access::none), std::unexpected(Fault::not_bound));
}

}  // namespace
}  // namespace verbline::memory
