// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/port/eal.h"

#include <cerrno>
#include <tuple>

#include <sys/resource.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "pmd/base/free_descriptors.h"
#include "tests/support/descriptor_limit.h"
#include "tests/support/stranger.h"

namespace verbline::verbs {
namespace {

int code_of(const Result<void>& outcome) {
    return outcome ? 0 : outcome.error().code;
}

/// No thread can be started, as often as it is tried; then one can.
bool starts_once_there_are_threads() {
    rlimit before{};
    getrlimit(RLIMIT_NPROC, &before);
    const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
    Eal eal;
    for (int tried = 0; tried < 2; ++tried) {
        setrlimit(RLIMIT_NPROC, &none);
        if (code_of(eal.need()) != EAGAIN) return false;
    }
    setrlimit(RLIMIT_NPROC, &before);
    return eal.need().has_value();
}

TEST(Eal, StartsOnceThereIsAThreadForIt) {
    SKIP_WITHOUT_OTHER_USERS();  // the limit is not root's
    EXPECT_TRUE(test::as_user(test::stranger, starts_once_there_are_threads));
}

/// DPDK refuses to start a second time. It is asked that once.
bool keeps_the_answer_of_dpdk() {
    Eal first, second;
    std::ignore = first.need();
    if (code_of(second.need()) != EALREADY) return false;
    const test::DescriptorLimit none(0);
    return code_of(second.need()) == EALREADY;
}

TEST(Eal, KeepsTheAnswerOfDpdk) {
    EXPECT_TRUE(test::as_user(geteuid(), keeps_the_answer_of_dpdk));
}

TEST(Eal, SearchesThePciBusForLinksAlone) {
    EXPECT_TRUE(eal_needs({}).pci_devices.empty());
    const std::vector<Link> links{HubLink{"default"}, pmd::DpdkSpec{"03:00.0,queues=1"},
                                  pmd::DpdkSpec{"net_af_packet0,iface=lo"}};
    EXPECT_EQ(eal_needs(links).pci_devices, std::vector<std::string>{"03:00.0,queues=1"});
    EXPECT_FALSE(eal_needs(links).shares_memory);
}

TEST(Eal, SharesItsMemoryWithAVhostPortAlone) {
    const std::vector<Link> links{pmd::DpdkSpec{"net_virtio_user0,path=/a"}};
    EXPECT_TRUE(eal_needs(links).shares_memory);
    EXPECT_TRUE(eal_needs(links).pci_devices.empty());
}

// The last one, as children of a process that has started DPDK cannot start it.
TEST(Eal, StartsOnceThereAreDescriptorsForIt) {
    constexpr auto enough = descriptors_to_start_dpdk(0);
    Eal eal;
    {
        const test::DescriptorLimit few(enough - 1);
        EXPECT_EQ(code_of(eal.need()), EMFILE);
        EXPECT_EQ(code_of(eal.need()), EMFILE);
    }
    {
        const test::DescriptorLimit just(enough);
        EXPECT_EQ(code_of(eal.need()), 0);
    }
    const test::DescriptorLimit none(0);
    EXPECT_EQ(code_of(eal.need()), 0) << "it runs";
}

}  // namespace
}  // namespace verbline::verbs
