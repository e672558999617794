// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/base/numa.h"

#include <unistd.h>

#include <gtest/gtest.h>

namespace verbline {
namespace {

class NumaTest : public testing::Test {
protected:
    ~NumaTest() override { std::filesystem::remove_all(interfaces_); }

    void add(const std::string& interface, const std::string& numa_node) {
        std::filesystem::create_directories(interfaces_ / interface / "device");
        std::ofstream(interfaces_ / interface / "device" / "numa_node") << numa_node;
    }
    std::optional<int> socket_of(const std::string& interface) const {
        return numa_socket_of_interface(interface, interfaces_);
    }

    std::filesystem::path interfaces_ =
        std::filesystem::path(testing::TempDir()) / ("numa_test-" + std::to_string(getpid()));
};

TEST_F(NumaTest, IsThatOfTheInterfacesDevice) {
    add("eth0", "0\n"), add("eth1", "1\n");
    EXPECT_EQ(socket_of("eth0"), 0);
    EXPECT_EQ(socket_of("eth1"), 1);
}

TEST_F(NumaTest, IsUnknownWithoutADeviceOrANumber) {
    add("eth0", "-1\n"), add("eth1", ""), add("eth2", "text\n");
    for (const auto* const interface : {"eth0", "eth1", "eth2", "veth0"}) EXPECT_FALSE(socket_of(interface));
    EXPECT_FALSE(numa_socket_of_interface("lo"));
}

}  // namespace
}  // namespace verbline
