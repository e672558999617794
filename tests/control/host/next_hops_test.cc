// SPDX-License-Identifier: BSD-3-Clause
// The kernel's neighbours, over a veth between two namespaces; our own are tested with NeighbourDevice.
#include "control/host/next_hops.h"

#include <cerrno>
#include <chrono>
#include <semaphore>
#include <vector>

#include <net/if.h>

#include <gtest/gtest.h>

#include "control/host/kernel_neighbour.h"
#include "datapath/link/ip_gid.h"
#include "datapath/wire/text.h"
#include "tests/support/namespace.h"

namespace verbline::host {
namespace {

wire::Gid gid(std::uint8_t last) {
    return link::gid_of(wire::ipv4(10, 1, 0, last));
}

struct NextHopsTest : ::testing::Test {
    void SetUp() override {
        SKIP_UNLESS_ROOT();
        here.emplace(), there.emplace();
        here->run("ip link add v0 address 02:00:00:00:00:01 type veth peer name v1 address 02:00:00:00:00:02");
        here->run("ip link set v1 netns " + there->path());
        here->run("ip address add 10.1.0.1/24 dev v0");
        there->run("ip address add 10.1.0.2/24 dev v1");
        here->run("ip link set v0 up");
        there->run("ip link set v1 up");
        here->enter([&] { ifindex = if_nametoindex("v0"); });
        hops.emplace();
        hops->use(nullptr, [this](const wire::Gid& from, const wire::Gid& to, Time timeout) {
            return resolve_kernel_neighbour(ifindex, from, to, timeout);
        });
        hops->on_answer([this] { told.release(); });
    }
    /// The resolver is made in the namespace of who asks first.
    void ask(std::uint8_t last) {
        here->enter([&] { hops->resolve(gid(1), gid(last)); });
    }
    bool answered() { return told.try_acquire_for(std::chrono::seconds(15)); }
    std::uint64_t counter(std::string_view name) const {
        std::uint64_t found = 0;
        hops->counters([&](std::string_view n, std::uint64_t value, std::string_view) {
            if (n == name) found = value;
        });
        return found;
    }

    unsigned ifindex = 0;
    std::counting_semaphore<64> told{0};
    std::optional<test::Namespace> here, there;
    std::optional<NextHops> hops;
};

TEST_F(NextHopsTest, TheKernelIsQueriedBesides) {
    EXPECT_FALSE(hops->find(gid(1), gid(2)));
    ask(2);
    ASSERT_TRUE(answered());
    EXPECT_EQ(hops->find(gid(1), gid(2)), wire::from_string<wire::MacAddress>("02:00:00:00:00:02").value());
    EXPECT_FALSE(hops->find(gid(1), gid(3)));
    EXPECT_FALSE(hops->resolving(gid(1), gid(2)));
}

TEST_F(NextHopsTest, ASilentHostDelaysOthersBriefly) {
    for (std::uint8_t last = 10; last < 15; ++last) ask(last);
    ask(10);  // is in the queue, or in hand
    ask(2);
    const auto began = std::chrono::steady_clock::now();
    while (!hops->find(gid(1), gid(2))) ASSERT_TRUE(answered());
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(5));
    EXPECT_EQ(counter("next_hop_queries"), 6u) << "one question for each";
    while (counter("next_hop_failures") < 5) ASSERT_TRUE(answered());
}

TEST_F(NextHopsTest, AFailureIsRememberedAMoment) {
    hops->use(nullptr, [](const wire::Gid&, const wire::Gid& to, Time) -> Result<wire::MacAddress> {
        if (to == gid(3)) return failure(EACCES, "prohibited");
        return wire::MacAddress{};
    });
    EXPECT_EQ(hops->failure_of(gid(1), gid(3)), 0);
    ask(3);
    ASSERT_TRUE(answered());
    EXPECT_EQ(hops->failure_of(gid(1), gid(3)), EACCES);
    EXPECT_FALSE(hops->find(gid(1), gid(3)));
    ask(2);
    ASSERT_TRUE(answered());
    EXPECT_EQ(hops->failure_of(gid(1), gid(2)), 0);
}

TEST_F(NextHopsTest, EndsInTheMiddleOfAQuestion) {
    ask(20);
    EXPECT_TRUE(hops->resolving(gid(1), gid(20)));
    hops.reset();
}

}  // namespace
}  // namespace verbline::host
