// SPDX-License-Identifier: BSD-3-Clause
#include "control/cm/zeroed_array.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <tuple>

#include <sys/mman.h>

namespace verbline::cm {

namespace {

constexpr std::size_t cache_line = 64;
constexpr std::size_t huge_page = 2 << 20;  // of x86-64 and arm64 with pages of 4 KiB; elsewhere it is only alignment
constexpr std::size_t from_kernel = 64 << 10;  // where pages of one's own are worth a system call

constexpr std::size_t round_up(std::size_t size, std::size_t to) {
    return (size + to - 1) / to * to;
}

void* from_heap(std::size_t bytes) {
    void* const at = std::aligned_alloc(cache_line, round_up(bytes, cache_line));
    if (at == nullptr) throw std::bad_alloc();
    return std::memset(at, 0, bytes);
}

std::byte* map(std::size_t bytes) {
    void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    return static_cast<std::byte*>(at);
}

/// Maps more than is needed and keeps the part aligned to huge pages.
void* map_huge(std::size_t bytes) {
    const auto mapped = round_up(bytes, cache_line) + huge_page;
    auto* const first = map(mapped);
    const auto skipped = -reinterpret_cast<std::uintptr_t>(first) % huge_page;
    auto* const at = first + skipped;
    const auto end = round_up(bytes, std::size_t{4096});
    if (skipped != 0) munmap(first, skipped);
    if (mapped - skipped > end) munmap(at + end, mapped - skipped - end);
    std::ignore = madvise(at, bytes, MADV_HUGEPAGE);  // where it is not possible ordinary pages do
    return at;
}

}  // namespace

ZeroedMemory::ZeroedMemory(std::size_t bytes)
    : at_(bytes < from_kernel ? from_heap(bytes)
          : bytes < huge_page ? map(bytes)
                              : map_huge(bytes)),
      bytes_(bytes) {}

ZeroedMemory::~ZeroedMemory() {
    if (bytes_ < from_kernel) {
        std::free(at_);
    } else {
        munmap(at_, bytes_);
    }
}

}  // namespace verbline::cm
