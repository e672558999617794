// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/instance/eal.h"

#include <algorithm>

#include <rte_lcore.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/verbline/instance/instance.h"
#include "apps/verbline/instance/telemetry_client.h"
#include "tests/apps/verbline/scratch.h"
#include "tests/support/resources.h"

namespace verbline::cli {
namespace {

using Words = std::vector<std::string>;

bool has(const Words& words, const Words& sequence) {
    return std::ranges::search(words, sequence).begin() != words.end();
}

constexpr std::size_t plenty = std::size_t{4} << 30;

TEST(EalArguments, WithoutHugepagesNoneAreUsed) {
    const auto out = eal_arguments({.name = "gw", .memory_mb = 300}, {.cpus = {0, 1}});
    EXPECT_TRUE(has(out, {"--no-huge", "--no-shconf", "-m", "300"}));
    EXPECT_TRUE(has(out, {"--file-prefix", "verbline-gw"}));
    EXPECT_TRUE(has(out, {"--no-pci"}));
    EXPECT_FALSE(has(out, {"--in-memory"}));
}

TEST(EalArguments, HugepagesAreTakenWhenEnoughAreFree) {
    const auto out = eal_arguments({.name = "gw", .memory_mb = 300}, {.cpus = {0}, .free_hugepage_memory = plenty});
    EXPECT_TRUE(has(out, {"--in-memory"}));
    EXPECT_FALSE(has(out, {"--no-huge"})) << "the EAL refuses both together";
    const auto few = eal_arguments({.name = "gw", .memory_mb = 300}, {.cpus = {0}, .free_hugepage_memory = 299 << 20});
    EXPECT_TRUE(has(few, {"--no-huge"}));
}

TEST(EalArguments, EveryLcoreFloatsOverTheAllowedCpus) {
    const auto out = eal_arguments({.name = "gw", .workers = 2}, {.cpus = {1, 3, 7}});
    EXPECT_TRUE(has(out, {"--lcores", "(0-2)@(1,3,7)"}));
    EXPECT_TRUE(has(out, {"--main-lcore", "0"}));
}

TEST(EalArguments, PciDevicesAreAllowedOneByOne) {
    const auto out = eal_arguments({.name = "gw", .pci_devices = {"0000:01:00.0,mprq_en=1"}}, {.cpus = {0}});
    EXPECT_TRUE(has(out, {"-a", "0000:01:00.0,mprq_en=1"}));
    EXPECT_FALSE(has(out, {"--no-pci"}));
}

TEST(EalArguments, TheUsersOwnReplaceAllButTheFilePrefix) {
    const EalOptions options{.name = "gw", .arguments = {"-l", "2-3"}};
    EXPECT_EQ(eal_arguments(options, {.cpus = {0}}), (Words{"verbline", "-l", "2-3", "--file-prefix", "verbline-gw"}));
}

TEST(EalArguments, TheUsersOwnFilePrefixStays) {
    for (const Words& own : {Words{"--file-prefix", "x"}, Words{"--file-prefix=x"}})
        EXPECT_EQ(eal_arguments({.name = "gw", .arguments = own}, {.cpus = {0}}).size(), 1 + own.size());
}

TEST(Machine, HasACpu) {
    EXPECT_FALSE(this_machine().cpus.empty());
}

/// Starts an instance in a child, waits until it runs, and kills it.
void start_and_kill(const EalOptions& options) {
    int started[2];
    ASSERT_EQ(pipe(started), 0);
    const pid_t child = fork();
    if (child == 0) {
        const auto eal = Eal::start(options);
        const char how = eal ? 'y' : 'n';
        if (write(started[1], &how, 1) == 1 && eal) pause();
        _exit(1);
    }
    char how = 0;
    ASSERT_EQ(read(started[0], &how, 1), 1);
    EXPECT_EQ(how, 'y');
    kill(child, SIGKILL);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    close(started[0]), close(started[1]);
}

// One test, as DPDK can be started once in a process.
TEST(Eal, StartsAfterAKilledInstanceAndRefusesASecondOne) {
    // DPDK's threads outlive rte_eal_cleanup(), and what they sleep on.
    RecordProperty("left_behind", "pipe:;[eventpoll];[timerfd];(socket:;eal-intr-thread;rte-worker;telemetry-v2");
    const Scratch scratch;
    const Variable runtime("RUNTIME_DIRECTORY", scratch.path());
    const EalOptions options{.name = "gw", .workers = 1, .memory_mb = 64};
    start_and_kill(options);

    const auto eal = Eal::start(options);
    ASSERT_TRUE(eal) << eal.error().what;
    EXPECT_EQ(rte_lcore_count(), 2u);
    EXPECT_EQ(rte_get_main_lcore(), 0u);

    const auto before = test::Resources::now();
    const auto second = Eal::start(options);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, EBUSY);
    EXPECT_EQ(second.error().what, "gw is running already as process " + std::to_string(getpid()) +
                                       "; stop it, or give this one another name");

    {
        auto client = TelemetryClient::connect(instance_directory("gw") / "dpdk_telemetry.v2");
        ASSERT_TRUE(client) << client.error().what;
        EXPECT_EQ(client->pid(), getpid());
    }
    // Both have connected to DPDK, which closes its end in a thread of its own: the next test would miss the
    // descriptor.
    for (int i = 0; i < 2'000 && !test::Resources::now().leaked_since(before).empty(); ++i) usleep(1'000);
    EXPECT_THAT(test::Resources::now().leaked_since(before), testing::IsEmpty());
}

}  // namespace
}  // namespace verbline::cli
