// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/memif/shared_memory.h"

#include <algorithm>
#include <fstream>
#include <optional>

#include <fcntl.h>
#include <sys/mman.h>

#include <gtest/gtest.h>

namespace verbline::pmd::memif {
namespace {

constexpr std::size_t huge_page = 2 << 20;
constexpr unsigned huge_pages = MFD_HUGETLB | 21u << 26;  ///< of 2^21 bytes

/// A peer's memory, with the seals that it wants; ours to do as it could do.
FileDescriptor peers_memory(std::size_t size, unsigned flags, int seals) {
    FileDescriptor fd(memfd_create("peer", MFD_CLOEXEC | MFD_ALLOW_SEALING | flags));
    if (fd && ftruncate(fd.get(), static_cast<off_t>(size)) == 0) fcntl(fd.get(), F_ADD_SEALS, seals);
    return fd;
}

int punch(const FileDescriptor& fd, std::size_t size) {
    return fallocate(fd.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(size));
}

/// A huge page that the test may have: where none is free, the kernel sets one more aside for the test's time.
class HugePages : public ::testing::Test {
protected:
    void SetUp() override {
        if (one_is_free()) return;
        if (unsigned count = 0; std::ifstream(pool) >> count) {
            before_ = count;
            std::ofstream(pool) << count + 1;
        }
        if (!one_is_free()) GTEST_SKIP() << "no huge page of 2 MiB is free, and the kernel sets none aside";
    }
    ~HugePages() override {
        if (before_) std::ofstream(pool) << *before_;
    }

private:
    static constexpr auto pool = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages";

    static bool one_is_free() {
        const auto probe = peers_memory(huge_page, huge_pages, F_SEAL_SHRINK);
        return probe && fallocate(probe.get(), 0, 0, huge_page) == 0;
    }

    std::optional<unsigned> before_;  ///< the pages that were set aside; nothing: that is as it was
};

TEST(SharedMemoryTest, HolesInOrdinaryPagesReadAsZeros) {
    auto fd = peers_memory(8192, 0, F_SEAL_SHRINK);
    const FileDescriptor peer(dup(fd.get()));
    const auto memory = SharedMemory::map(std::move(fd), 8192);
    ASSERT_TRUE(memory);
    std::ranges::fill(memory->bytes(), std::byte{1});
    ASSERT_EQ(punch(peer, 8192), 0);
    EXPECT_EQ(memory->bytes()[0], std::byte{0});
    EXPECT_TRUE(SharedMemory::map(FileDescriptor(dup(peer.get())), 8192)) << "a peer may offer it again";
}

TEST(SharedMemoryTest, RejectsUnsealedOrTooSmallRegion) {
    EXPECT_FALSE(SharedMemory::map(peers_memory(8192, 0, 0), 8192));
    EXPECT_FALSE(SharedMemory::map(peers_memory(8192, 0, F_SEAL_SHRINK), 8193));
    EXPECT_FALSE(SharedMemory::map(peers_memory(8192, 0, F_SEAL_SHRINK), 0));
}

TEST_F(HugePages, CannotBeTruncatedByThePeer) {
    {
        auto fd = peers_memory(huge_page, huge_pages, F_SEAL_SHRINK);
        const FileDescriptor peer(dup(fd.get()));
        ASSERT_EQ(fallocate(peer.get(), 0, 0, huge_page), 0);
        ASSERT_EQ(punch(peer, huge_page), 0);
        const auto memory = SharedMemory::map(std::move(fd), 5000);
        ASSERT_TRUE(memory) << memory.error().what;
        EXPECT_NE(punch(peer, huge_page), 0);
        EXPECT_NE(ftruncate(peer.get(), 0), 0);
        EXPECT_EQ(memory->bytes().size(), 5000u);
        memory->bytes()[4999] = std::byte{1};
    }
    // The mapping ends in whole pages, or its pages would never be free again.
    EXPECT_TRUE(SharedMemory::map(peers_memory(huge_page, huge_pages, F_SEAL_SHRINK), huge_page));
}

TEST_F(HugePages, ThatCannotBeSealedAreRefused) {
    EXPECT_FALSE(SharedMemory::map(peers_memory(huge_page, huge_pages, F_SEAL_SHRINK | F_SEAL_SEAL), huge_page));
}

}  // namespace
}  // namespace verbline::pmd::memif
