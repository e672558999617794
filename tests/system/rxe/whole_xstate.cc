// SPDX-License-Identifier: BSD-3-Clause

/// @file
/// A library to preload into User Mode Linux, for processors with more extended state than Linux 6.1 knows of there.
///
/// It keeps a process's extended state (XSAVE) in 2696 bytes and gives it back as so many. The machine's kernel takes
/// all of the processor's components or nothing (EFAULT), and with AMX these are 11008 bytes: User Mode Linux then ends
/// its first process. The components that are missing here are in their initial state, as the header, which is among
/// the 2696, says.

#include <array>
#include <cstdarg>
#include <cstddef>
#include <cstring>

#include <dlfcn.h>
#include <elf.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>

namespace {

using Ptrace = long (*)(__ptrace_request, pid_t, void*, void*);

// User Mode Linux is one thread with small stacks.
alignas(64) std::array<std::byte, 65536> state;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

/// How many bytes the machine's kernel wants; 0 if it does not say.
std::size_t state_bytes(Ptrace next, pid_t process) {
    iovec whole{state.data(), state.size()};
    if (next(PTRACE_GETREGSET, process, reinterpret_cast<void*>(NT_X86_XSTATE), &whole) != 0) return 0;
    state.fill(std::byte{});
    return whole.iov_len;
}

}  // namespace

extern "C" long ptrace(__ptrace_request request, ...) noexcept {
    va_list words;
    va_start(words, request);
    const auto process = va_arg(words, pid_t);
    void* const address = va_arg(words, void*);
    void* const data = va_arg(words, void*);
    va_end(words);

    static const auto next = reinterpret_cast<Ptrace>(dlsym(RTLD_NEXT, "ptrace"));
    if (request != PTRACE_SETREGSET || address != reinterpret_cast<void*>(NT_X86_XSTATE))
        return next(request, process, address, data);

    static const auto wanted = state_bytes(next, process);
    const auto* given = static_cast<const iovec*>(data);
    if (given->iov_len >= wanted) return next(request, process, address, data);
    std::memcpy(state.data(), given->iov_base, given->iov_len);
    iovec whole{state.data(), wanted};
    return next(request, process, address, &whole);
}
