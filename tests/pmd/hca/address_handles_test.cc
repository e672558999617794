// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/hca/address_handles.h"

#include <gtest/gtest.h>

#include "pmd/hca/library.h"
#include "tests/pmd/hca/fake_adapters.h"

namespace verbline::pmd::hca {
namespace {

struct HcaAddressHandles : ::testing::Test {
    HcaAddressHandles() {
        adapters.add("fake0", 1);
        context = std::move(*open_context(verbs, "fake0"));
        domain = {verbs.alloc_pd(context.get()), {verbs.dealloc_pd}};
    }
    static wire::AddressHandle to(std::uint8_t host) { return {.global = true, .dgid = test::FakeAdapters::gid(host)}; }

    test::FakeAdapters adapters;
    const Verbs& verbs = **open_library(test::FakeAdapters::library());
    Owned<ibv_context> context;
    Owned<ibv_pd> domain;
};

TEST_F(HcaAddressHandles, OneForEachDestination) {
    AddressHandles handles(verbs, *domain, 1, 8);
    handles.reset({.ethernet = true, .gid_index = 3});
    auto* const first = handles.find(to(1), 0, 0);
    auto* const second = handles.find(to(2), 1, 0);
    EXPECT_NE(first, second);
    EXPECT_EQ(handles.find(to(1), 2, 0), first);
    EXPECT_EQ(handles.find(to(2), 3, 0), second);
    auto other_level = to(2);
    other_level.sl = 4;
    EXPECT_NE(handles.find(other_level, 4, 0), second);
    EXPECT_EQ(adapters.handles_made, 3u);
}

TEST_F(HcaAddressHandles, TheLeastRecentlyUsedGoes) {
    AddressHandles handles(verbs, *domain, 1, 3);
    handles.reset({.ethernet = true});
    for (const std::uint8_t host : {1, 2, 3, 1, 4}) handles.find(to(host), 0, 1);
    EXPECT_EQ(handles.size(), 3u);
    EXPECT_EQ(adapters.handles(), 3u);
    const auto made = adapters.handles_made;
    handles.find(to(1), 0, 1);
    EXPECT_EQ(adapters.handles_made, made) << "used last but one";
    handles.find(to(2), 0, 1);
    EXPECT_EQ(adapters.handles_made, made + 1);
}

TEST_F(HcaAddressHandles, NoneIsDestroyedBeforeItsRequestsAreComplete) {
    AddressHandles handles(verbs, *domain, 1, 1);
    handles.reset({.ethernet = true});
    handles.find(to(1), 10, 5);
    handles.find(to(2), 11, 5);
    EXPECT_EQ(adapters.handles(), 2u) << "request 10 is under way";
    EXPECT_EQ(handles.retiring(), 1u);
    handles.find(to(3), 12, 11);
    EXPECT_EQ(handles.retiring(), 1u) << "of request 11";
    EXPECT_EQ(adapters.handles(), 2u);
    handles.reset({.ethernet = true});
    EXPECT_EQ(adapters.handles(), 0u);
}

TEST_F(HcaAddressHandles, NullForWhatTheDeviceRefuses) {
    AddressHandles handles(verbs, *domain, 1, 4);
    EXPECT_EQ(handles.find({.dlid = wire::Lid{5}}, 0, 0), nullptr) << "no RoCE address without a GID";
    EXPECT_EQ(handles.size(), 0u);
}

}  // namespace
}  // namespace verbline::pmd::hca
