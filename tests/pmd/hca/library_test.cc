// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/hca/library.h"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "tests/pmd/hca/fake_adapters.h"

namespace verbline::pmd::hca {
namespace {

TEST(HcaLibrary, IsOpenedOnceByPathAndReachesItsDevices) {
    test::FakeAdapters adapters;
    adapters.add("fake0", 1);
    const auto first = open_library(test::FakeAdapters::library());
    ASSERT_TRUE(first) << first.error().what;
    EXPECT_EQ(*open_library(test::FakeAdapters::library()), *first);
    int count = 0;
    auto** const list = (*first)->get_device_list(&count);
    ASSERT_EQ(count, 1);
    EXPECT_STREQ(list[0]->name, "fake0");
    (*first)->free_device_list(list);
    EXPECT_EQ(adapters.objects(), 0u);
}

/// Ours may have another number in it at that time.
TEST(HcaLibrary, ItsErrnoIsItsOwn) {
    test::FakeAdapters adapters;
    adapters.add("fake0", 1).open_error = EMFILE;
    const auto verbs = open_library(test::FakeAdapters::library());
    ASSERT_TRUE(verbs);
    int count = 0;
    auto** const list = (*verbs)->get_device_list(&count);
    errno = 0;
    EXPECT_EQ((*verbs)->open_device(list[0]), nullptr);
    EXPECT_EQ((*verbs)->error(), EMFILE);
    EXPECT_EQ(errno, 0);
    (*verbs)->free_device_list(list);
}

/// It has a copy of the environment: that of the process moves when it grows. (The stand-in finds its script there.)
TEST(HcaLibrary, TheEnvironmentMayChangeAfterwards) {
    test::FakeAdapters adapters;
    adapters.add("fake0", 1);
    const auto verbs = open_library(test::FakeAdapters::library());
    ASSERT_TRUE(verbs);
    for (int i = 0; i < 200; ++i) setenv(("VERBLINE_TEST_" + std::to_string(i)).c_str(), "x", 1);
    int count = 0;
    (*verbs)->free_device_list((*verbs)->get_device_list(&count));
    EXPECT_EQ(count, 1);
    for (int i = 0; i < 200; ++i) unsetenv(("VERBLINE_TEST_" + std::to_string(i)).c_str());
}

TEST(HcaLibrary, WithoutItTheErrorSaysWhatToInstall) {
    const auto missing = open_library("/nonexistent/libibverbs.so.1");
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, ENOENT);
    EXPECT_TRUE(missing.error().what.starts_with("cannot open libibverbs, which RDMA devices are used by: "));
    EXPECT_TRUE(missing.error().what.ends_with("; install libibverbs1 and ibverbs-providers"));
}

TEST(HcaLibrary, ALibraryWithoutTheCallsIsRefused) {
    const auto other = open_library("libm.so.6");
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().what, "libm.so.6 is no libibverbs of rdma-core: it has no ibv_get_device_list");
}

/// Debian's, whatever devices this machine has.
TEST(HcaLibrary, TheSystemsHasAllCalls) {
    const auto verbs = open_library({});
    ASSERT_TRUE(verbs) << verbs.error().what;
    EXPECT_NE((*verbs)->query_gid_ex, nullptr);
    int count = -1;
    auto** const list = (*verbs)->get_device_list(&count);
    if (list == nullptr) {
        EXPECT_NE((*verbs)->error(), 0);
    } else {
        (*verbs)->free_device_list(list);
    }
}

}  // namespace
}  // namespace verbline::pmd::hca
