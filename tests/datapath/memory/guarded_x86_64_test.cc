// SPDX-License-Identifier: BSD-3-Clause

/// @file
/// The copies for CPUs that this one may not be like; guarded_test.cc tries the one it chooses.

#include "datapath/memory/guarded_x86_64.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include <sys/mman.h>

#include <gtest/gtest.h>

#include "datapath/memory/guarded.h"

namespace verbline::memory {
namespace {

struct Variant {
    const char* name;
    decltype(&verbline_copy_sse2) copy;
    bool supported;
};

std::vector<Variant> variants() {
    return {{"sse2", verbline_copy_sse2, true},
            {"avx2", verbline_copy_avx2, __builtin_cpu_supports("avx2") != 0},
            {"avx512", verbline_copy_avx512, __builtin_cpu_supports("avx512vl") != 0}};
}

class Copy : public testing::TestWithParam<Variant> {
protected:
    void SetUp() override {
        if (!GetParam().supported) GTEST_SKIP() << "this CPU has no " << GetParam().name;
        ASSERT_TRUE(install_fault_guard());
    }
    static bool copy(std::byte* to, const std::byte* from, std::size_t size) { return GetParam().copy(to, from, size); }
};

TEST_P(Copy, EverySizeAtEveryAlignmentAndNothingElse) {
    std::vector<std::byte> from(70'200), to(from.size()), expected(from.size());
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 131 >> 3);
    std::vector<std::size_t> sizes{4096, 65'535, 65'536, 70'001};
    for (std::size_t size = 0; size <= 1200; ++size) sizes.push_back(size);
    for (const auto size : sizes) {
        for (std::size_t offset = 0; offset < 64; offset += size < 1200 ? 7 : 63) {
            const auto reach = size + 192;
            std::fill_n(to.begin(), reach, std::byte{0x33});
            std::fill_n(expected.begin(), reach, std::byte{0x33});
            std::memcpy(expected.data() + 64 + offset, from.data() + offset * 3 % 64, size);
            ASSERT_TRUE(copy(to.data() + 64 + offset, from.data() + offset * 3 % 64, size));
            ASSERT_EQ(std::memcmp(to.data(), expected.data(), reach), 0) << size << " bytes to " << offset;
        }
    }
}

TEST_P(Copy, FaultsAtEveryPlaceOfEverySize) {
    constexpr std::size_t page = 4096;
    std::vector<std::byte> buffer(2 * page);
    auto* const mapped = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(mapped, MAP_FAILED);
    auto* const gone = static_cast<std::byte*>(mapped) + page;
    ASSERT_EQ(munmap(gone, page), 0);
    for (const std::size_t size : {1u, 2u, 3u, 5u, 9u, 17u, 33u, 65u, 130u, 260u, 520u, 700u}) {
        for (std::size_t present = 0; present < size; ++present) {
            ASSERT_FALSE(copy(buffer.data(), gone - present, size)) << present << " of " << size;
            ASSERT_FALSE(copy(gone - present, buffer.data(), size)) << present << " of " << size;
        }
        ASSERT_TRUE(copy(buffer.data(), gone - size, size));
        ASSERT_TRUE(copy(gone - size, buffer.data(), size));
    }
    munmap(mapped, page);
}

INSTANTIATE_TEST_SUITE_P(Variants, Copy, testing::ValuesIn(variants()),
                         [](const auto& variant) { return variant.param.name; });

}  // namespace
}  // namespace verbline::memory
