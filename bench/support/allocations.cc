// SPDX-License-Identifier: BSD-3-Clause
#include "bench/support/allocations.h"

#include <atomic>
#include <cerrno>
#include <cstddef>

// glibc's allocator, by the names that it exports for programs that replace malloc.
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
}

namespace {

constinit std::atomic<std::uint64_t> count{0};

void counted() {
    count.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

std::uint64_t verbline::bench::allocations() {
    return count.load(std::memory_order_relaxed);
}

extern "C" {

void* malloc(std::size_t size) {
    counted();
    return __libc_malloc(size);
}
void* calloc(std::size_t number, std::size_t size) {
    counted();
    return __libc_calloc(number, size);
}
void* realloc(void* memory, std::size_t size) {
    counted();
    return __libc_realloc(memory, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
    counted();
    return __libc_memalign(alignment, size);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
    counted();
    *memory = __libc_memalign(alignment, size);
    return *memory != nullptr ? 0 : ENOMEM;
}

}  // extern "C"
