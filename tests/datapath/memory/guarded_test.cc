// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/memory/guarded.h"

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace verbline::memory {
namespace {

const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));

/// Two pages that can be read and written; what becomes of the second is up to the test.
class Pages {
public:
    Pages() : at_(static_cast<std::byte*>(mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, flags, -1, 0))) {
        EXPECT_NE(at_, MAP_FAILED);
        std::memset(at_, 0x11, 2 * page);
    }
    ~Pages() { munmap(at_, 2 * page); }
    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;

    std::byte* first() const { return at_; }
    std::byte* second() const { return at_ + page; }
    void unmap_second() const { ASSERT_EQ(munmap(second(), page), 0); }
    void protect_second(int how) const { ASSERT_EQ(mprotect(second(), page, how), 0); }

private:
    static constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    std::byte* at_;
};

/// A page of a file that has been truncated away: SIGBUS.
class TruncatedFile {
public:
    TruncatedFile() : file_(memfd_create("truncated", 0)) {
        EXPECT_EQ(ftruncate(file_, static_cast<off_t>(page)), 0);
        at_ = static_cast<std::byte*>(mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0));
        at_[0] = std::byte{1};
        EXPECT_EQ(ftruncate(file_, 0), 0);
    }
    ~TruncatedFile() {
        munmap(at_, page);
        close(file_);
    }
    std::byte* at() const { return at_; }

private:
    int file_;
    std::byte* at_;
};

class Guarded : public testing::Test {
protected:
    void SetUp() override { ASSERT_TRUE(install_fault_guard()); }

    std::vector<std::byte> buffer = std::vector<std::byte>(3 * page, std::byte{0x22});
};

TEST_F(Guarded, CopiesEverySizeAtEveryAlignmentAndNothingElse) {
    std::vector<std::size_t> sizes;
    for (std::size_t size = 0; size <= 1200; ++size) sizes.push_back(size);
    for (const std::size_t size : {2048u, 4095u, 4096u, 4097u, 65'535u, 65'536u, 70'001u}) sizes.push_back(size);
    std::vector<std::byte> from(70'001 + 200), to(from.size()), expected(from.size());
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 131 >> 3);
    for (const auto size : sizes) {
        for (const auto& [ours, theirs] : {std::pair{0, 0}, {1, 0}, {0, 1}, {7, 9}, {33, 31}, {63, 64}}) {
            const auto reach = std::min(from.size(), size + 200);
            std::fill_n(to.begin(), reach, std::byte{0x33});
            std::fill_n(expected.begin(), reach, std::byte{0x33});
            std::copy_n(from.begin() + theirs, size, expected.begin() + 64 + ours);
            ASSERT_TRUE(guarded_copy(to.data() + 64 + ours, from.data() + theirs, size));
            ASSERT_TRUE(std::equal(to.begin(), to.begin() + static_cast<std::ptrdiff_t>(reach), expected.begin()))
                << size << " bytes, " << theirs << " to " << ours;
        }
    }
}

TEST_F(Guarded, SourceOrDestinationIsGone) {
    Pages pages;
    pages.unmap_second();
    for (const std::size_t size :
         {1u, 2u, 3u, 7u, 8u, 15u, 16u, 31u, 32u, 63u, 64u, 127u, 128u, 256u, 512u, 1024u, 4096u}) {
        EXPECT_FALSE(guarded_copy(buffer.data(), pages.second(), size)) << size;
        EXPECT_FALSE(guarded_copy(pages.second(), buffer.data(), size)) << size;
    }
    EXPECT_FALSE(guarded_copy(buffer.data(), nullptr, 8));
    EXPECT_TRUE(guarded_copy(nullptr, nullptr, 0));
    // And everything is as it was.
    EXPECT_TRUE(guarded_copy(buffer.data(), pages.first(), page));
    EXPECT_EQ(buffer[page - 1], std::byte{0x11});
}

TEST_F(Guarded, ThePageHalfWayIsGone) {
    Pages pages;
    pages.unmap_second();
    for (const std::size_t size : {2u, 12u, 24u, 48u, 100u, 200u, 500u, 1000u, 4000u}) {
        EXPECT_FALSE(guarded_copy(buffer.data(), pages.second() - size / 2, size)) << size;
        EXPECT_FALSE(guarded_copy(pages.second() - size / 2, buffer.data(), size)) << size;
        EXPECT_TRUE(guarded_copy(buffer.data(), pages.second() - size, size)) << size;
        EXPECT_TRUE(guarded_copy(pages.second() - size, buffer.data(), size)) << size;
    }
}

TEST_F(Guarded, ByStringInstructionToo) {
    constexpr std::size_t size = 128 * 1024;
    std::vector<std::byte> large(size);
    auto* const at =
        static_cast<std::byte*>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_EQ(munmap(at + size / 2, page), 0);
    EXPECT_FALSE(guarded_copy(large.data(), at, size));
    EXPECT_FALSE(guarded_copy(at, large.data(), size));
    EXPECT_TRUE(guarded_copy(at, large.data(), size / 2));
    munmap(at, size);
}

/// No page is held: a copy reads and writes what is mapped at that moment.
TEST_F(Guarded, APageThatIsMappedAgainIsReached) {
    Pages pages;
    pages.unmap_second();
    EXPECT_FALSE(guarded_copy(pages.second(), buffer.data(), page));
    ASSERT_EQ(mmap(pages.second(), page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
              pages.second());
    EXPECT_TRUE(guarded_copy(pages.second(), buffer.data(), page));
    EXPECT_EQ(pages.second()[page - 1], std::byte{0x22});
}

TEST_F(Guarded, ProtectedPages) {
    Pages pages;
    pages.protect_second(PROT_READ);
    EXPECT_FALSE(guarded_copy(pages.second(), buffer.data(), 100));
    EXPECT_TRUE(guarded_copy(buffer.data(), pages.second(), 100));
    EXPECT_FALSE(guarded_store(pages.second(), 1));
    EXPECT_FALSE(guarded_fetch_add(pages.second(), 1));
    pages.protect_second(PROT_NONE);
    EXPECT_FALSE(guarded_copy(pages.second(), buffer.data(), 100));
    EXPECT_FALSE(guarded_copy(buffer.data(), pages.second(), 100));
    pages.protect_second(PROT_READ | PROT_WRITE);
    EXPECT_TRUE(guarded_copy(pages.second(), buffer.data(), 100));
}

TEST_F(Guarded, TruncatedFileMapping) {
    const TruncatedFile file;
    EXPECT_FALSE(guarded_copy(buffer.data(), file.at(), 64));
    EXPECT_FALSE(guarded_copy(file.at(), buffer.data(), 64));
    EXPECT_FALSE(guarded_compare_swap(file.at(), 1, 2));
    EXPECT_FALSE(guarded_fetch_add(file.at(), 2));
    EXPECT_FALSE(guarded_store(file.at(), 2));
}

TEST_F(Guarded, AnAddressNoCpuCanHave) {
    auto* const nowhere = reinterpret_cast<std::byte*>(0x8000'0000'0000'0000);
    EXPECT_FALSE(guarded_copy(buffer.data(), nowhere, 64));
    EXPECT_FALSE(guarded_copy(nowhere, buffer.data(), 64));
}

TEST_F(Guarded, CompareAndSwap) {
    alignas(8) std::uint64_t value = 5;
    auto* const at = reinterpret_cast<std::byte*>(&value);
    EXPECT_EQ(guarded_compare_swap(at, 4, 9), 5u);
    EXPECT_EQ(value, 5u);
    EXPECT_EQ(guarded_compare_swap(at, 5, 9), 5u);
    EXPECT_EQ(value, 9u);
}

TEST_F(Guarded, FetchAndAddAndStore) {
    alignas(8) std::uint64_t value = ~std::uint64_t{0};
    auto* const at = reinterpret_cast<std::byte*>(&value);
    EXPECT_EQ(guarded_fetch_add(at, 3), ~std::uint64_t{0});
    EXPECT_EQ(value, 2u);
    EXPECT_TRUE(guarded_store(at, 0x0123'4567'89ab'cdef));
    EXPECT_EQ(value, 0x0123'4567'89ab'cdefu);
}

TEST_F(Guarded, AtomicsOnPagesThatAreGone) {
    Pages pages;
    pages.unmap_second();
    EXPECT_EQ(guarded_compare_swap(pages.second(), 1, 2), std::nullopt);
    EXPECT_EQ(guarded_fetch_add(pages.second(), 1), std::nullopt);
    EXPECT_FALSE(guarded_store(pages.second(), 1));
}

TEST_F(Guarded, UnalignedAtomicsAreRefused) {
    alignas(8) std::byte words[16] = {};
    for (unsigned offset = 1; offset < 8; ++offset) {
        EXPECT_EQ(guarded_compare_swap(words + offset, 0, ~std::uint64_t{0}), std::nullopt);
        EXPECT_EQ(guarded_fetch_add(words + offset, 1), std::nullopt);
        EXPECT_FALSE(guarded_store(words + offset, 1));
    }
    EXPECT_TRUE(std::ranges::all_of(words, [](auto byte) { return byte == std::byte{0}; }));
}

TEST_F(Guarded, AtomicTowardsOtherThreads) {
    constexpr std::uint64_t turns = 50'000;
    alignas(8) std::uint64_t sum = 0, swapped = 0;
    const auto work = [&] {
        for (std::uint64_t i = 0; i < turns; ++i) {
            ASSERT_TRUE(guarded_fetch_add(reinterpret_cast<std::byte*>(&sum), 1));
            auto* const at = reinterpret_cast<std::byte*>(&swapped);
            for (auto seen = std::uint64_t{0};;) {
                const auto before = *guarded_compare_swap(at, seen, seen + 1);
                if (before == seen) break;
                seen = before;
            }
        }
    };
    { std::jthread one(work), two(work); }
    EXPECT_EQ(sum, 2 * turns);
    EXPECT_EQ(swapped, 2 * turns);
}

TEST_F(Guarded, FaultsOnManyThreadsAtOnce) {
    Pages pages;
    pages.unmap_second();
    const auto work = [&] {
        std::vector<std::byte> mine(page);
        for (unsigned i = 0; i < 1000; ++i) {
            ASSERT_FALSE(guarded_copy(mine.data(), pages.second() - i % 64, 128));
            ASSERT_TRUE(guarded_copy(mine.data(), pages.first(), 128));
        }
    };
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < 4; ++i) threads.emplace_back(work);
}

}  // namespace
}  // namespace verbline::memory
