// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "apps/libibverbs/abi/unpublished.h"

namespace {

struct Sysfs : testing::Test {
    std::string folder = (std::filesystem::temp_directory_path() / "verbline-sysfs-XXXXXX").string();
    std::array<char, 8> buffer{};

    Sysfs() {
        EXPECT_NE(mkdtemp(folder.data()), nullptr);
        buffer.fill('x');
    }
    ~Sysfs() override {
        std::filesystem::remove_all(folder);
        unsetenv("SYSFS_PATH");
    }
    int read(const std::string& content, std::size_t size) {
        std::ofstream(folder + "/file") << content;
        errno = 0;
        return ibv_read_sysfs_file(folder.c_str(), "file", buffer.data(), size);
    }
};

TEST_F(Sysfs, TheLastNewlineIsLeftOut) {
    EXPECT_EQ(read("44\n", buffer.size()), 2);
    EXPECT_STREQ(buffer.data(), "44");
    EXPECT_EQ(read("a\nb", buffer.size()), 3);
    EXPECT_STREQ(buffer.data(), "a\nb");
    EXPECT_EQ(read("\n\n", buffer.size()), 1);
    EXPECT_EQ(read("", buffer.size()), 0);
    EXPECT_STREQ(buffer.data(), "");
}

TEST_F(Sysfs, TruncatedReadFailsAndIsTerminated) {
    EXPECT_EQ(read("1234567\n", 8), 7) << "the newline makes room for the zero";
    EXPECT_STREQ(buffer.data(), "1234567");
    EXPECT_EQ(read("1234567", 8), 7);
    EXPECT_EQ(read("12345678", 8), -1);
    EXPECT_EQ(errno, EMSGSIZE);
    EXPECT_EQ(buffer[0], '\0');
    EXPECT_EQ(read("123", 2), -1);
    EXPECT_EQ(read("x", 0), -1) << "no room at all";
    EXPECT_EQ(buffer[2], '3') << "nor anything written outside of what was given";
}

TEST_F(Sysfs, NoFileIsAnError) {
    EXPECT_EQ(ibv_read_sysfs_file(folder.c_str(), "none", buffer.data(), buffer.size()), -1);
    EXPECT_EQ(errno, ENOENT);
    EXPECT_STREQ(buffer.data(), "");
    EXPECT_EQ(ibv_read_sysfs_file("/", "", buffer.data(), buffer.size()), -1);
    EXPECT_EQ(errno, EISDIR);
}

TEST_F(Sysfs, TheFolderComesFromTheEnvironment) {
    EXPECT_STREQ(ibv_get_sysfs_path(), "/sys");
    setenv("SYSFS_PATH", "/a", 1);
    EXPECT_STREQ(ibv_get_sysfs_path(), "/a");
    setenv("SYSFS_PATH", "", 1);
    EXPECT_STREQ(ibv_get_sysfs_path(), "/sys");
}

TEST_F(Sysfs, TheVersionOfTheConnectionManagersDeviceIsKnownWithoutOne) {
    for (const auto* file : {"class/misc/rdma_cm/abi_version", "class/infiniband_ucma/abi_version"}) {
        EXPECT_EQ(ibv_read_sysfs_file(folder.c_str(), file, buffer.data(), buffer.size()), 1);
        EXPECT_STREQ(buffer.data(), "4");
        EXPECT_EQ(ibv_read_sysfs_file(folder.c_str(), file, buffer.data(), 1), -1);
        EXPECT_EQ(errno, EMSGSIZE);
    }
}

TEST(Fork, NeedsNothing) {
    EXPECT_EQ(ibv_fork_init(), 0);
    EXPECT_EQ(ibv_is_fork_initialized(), IBV_FORK_UNNEEDED);
}

}  // namespace
