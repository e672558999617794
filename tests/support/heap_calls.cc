// SPDX-License-Identifier: BSD-3-Clause
#include "tests/support/heap_calls.h"

#include <cerrno>
#include <cstddef>

namespace verbline::test {
namespace {

constinit thread_local std::uint64_t calls = 0;

}  // namespace

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define VERBLINE_SANITIZED_HEAP 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define VERBLINE_SANITIZED_HEAP 1
#endif
#endif

#ifdef VERBLINE_SANITIZED_HEAP

extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*allocated)(const volatile void*, std::size_t),
                                                         void (*freed)(const volatile void*));

std::uint64_t heap_calls() noexcept {
    [[maybe_unused]] static const int installed = __sanitizer_install_malloc_and_free_hooks(
        [](const volatile void*, std::size_t) { ++calls; }, [](const volatile void*) {});
    return calls;
}

#else

// The program's definitions take the place of the C library's in every library that it loads.
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);

void* malloc(std::size_t size) {
    ++calls;
    return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
    ++calls;
    return __libc_calloc(count, size);
}
void* realloc(void* memory, std::size_t size) {
    ++calls;
    return __libc_realloc(memory, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
    ++calls;
    return __libc_memalign(alignment, size);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
    ++calls;
    *memory = __libc_memalign(alignment, size);
    return *memory == nullptr ? ENOMEM : 0;
}
}

std::uint64_t heap_calls() noexcept {
    return calls;
}

#endif

}  // namespace verbline::test
