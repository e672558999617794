// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/memory/guarded_x86_64.h"

#include "datapath/memory/fault_guard.h"
#include "datapath/memory/guarded.h"

// Every instruction that may fault stands between verbline_guarded_begin and verbline_guarded_end, in functions that
// touch neither the stack nor a callee-saved register. Wherever one of them faults, "return false" is therefore the
// same two instructions at verbline_guarded_fault, and the handler needs no record of who was doing what. (The upper
// halves of ymm registers are left dirty on that way, which costs time and nothing else.)
//
// The copies are one text for three widths W of vectors. Arguments: rdi to, rsi from, rdx size.
//     < 16 bytes    two moves of 8, 4 or 2 bytes that overlap in the middle; 1 and 0 bytes
//     <= 8 W        2, 4 or 8 vectors, half of them from the front and half from the back
//     more          4 W a turn, the destination aligned; the last 4 W from the back
//     from 64 KiB   `rep movsb`, a fifth faster there where measured (Zen 5), and as fast as the loop beyond the caches
// Registers are numbered 0 to 7 after a prefix: xmm, ymm, or zmm2 (zmm20 to 27 need no vzeroupper).
asm(R"(
    .pushsection .text.verbline_guarded, "ax", @progbits
    .intel_syntax noprefix

    .macro verbline_return leave
    \leave
    mov     eax, 1
    ret
    .endm

    .macro verbline_function name
    .p2align 6
    .globl  \name
    .hidden \name
    .type   \name, @function
\name:
    .endm

    .macro verbline_copy name, move, aligned, v, W, leave
    verbline_function \name
    cmp     rdx, \W
    jb      70f
    cmp     rdx, 2 * \W
    ja      20f
    \move   \v\()0, [rsi]
    \move   \v\()1, [rsi + rdx - \W]
    \move   [rdi], \v\()0
    \move   [rdi + rdx - \W], \v\()1
    verbline_return \leave

20: cmp     rdx, 4 * \W
    ja      40f
    \move   \v\()0, [rsi]
    \move   \v\()1, [rsi + \W]
    \move   \v\()2, [rsi + rdx - 2 * \W]
    \move   \v\()3, [rsi + rdx - \W]
    \move   [rdi], \v\()0
    \move   [rdi + \W], \v\()1
    \move   [rdi + rdx - 2 * \W], \v\()2
    \move   [rdi + rdx - \W], \v\()3
    verbline_return \leave

40: cmp     rdx, 8 * \W
    ja      60f
    \move   \v\()0, [rsi]
    \move   \v\()1, [rsi + \W]
    \move   \v\()2, [rsi + 2 * \W]
    \move   \v\()3, [rsi + 3 * \W]
    \move   \v\()4, [rsi + rdx - 4 * \W]
    \move   \v\()5, [rsi + rdx - 3 * \W]
    \move   \v\()6, [rsi + rdx - 2 * \W]
    \move   \v\()7, [rsi + rdx - \W]
    \move   [rdi], \v\()0
    \move   [rdi + \W], \v\()1
    \move   [rdi + 2 * \W], \v\()2
    \move   [rdi + 3 * \W], \v\()3
    \move   [rdi + rdx - 4 * \W], \v\()4
    \move   [rdi + rdx - 3 * \W], \v\()5
    \move   [rdi + rdx - 2 * \W], \v\()6
    \move   [rdi + rdx - \W], \v\()7
    verbline_return \leave

60: cmp     rdx, 65536
    jae     65f
    \move   \v\()0, [rsi]
    \move   \v\()4, [rsi + rdx - 4 * \W]
    \move   \v\()5, [rsi + rdx - 3 * \W]
    \move   \v\()6, [rsi + rdx - 2 * \W]
    \move   \v\()7, [rsi + rdx - \W]
    \move   [rdi], \v\()0
    lea     r8, [rdi + rdx - 4 * \W]
    sub     rsi, rdi
    add     rdi, \W
    and     rdi, -\W
    .p2align 5
61: \move   \v\()0, [rsi + rdi]
    \move   \v\()1, [rsi + rdi + \W]
    \move   \v\()2, [rsi + rdi + 2 * \W]
    \move   \v\()3, [rsi + rdi + 3 * \W]
    \aligned [rdi], \v\()0
    \aligned [rdi + \W], \v\()1
    \aligned [rdi + 2 * \W], \v\()2
    \aligned [rdi + 3 * \W], \v\()3
    add     rdi, 4 * \W
    cmp     rdi, r8
    jb      61b
    \move   [r8], \v\()4
    \move   [r8 + \W], \v\()5
    \move   [r8 + 2 * \W], \v\()6
    \move   [r8 + 3 * \W], \v\()7
    verbline_return \leave

65: mov     rcx, rdx
    rep movsb
    verbline_return

70: cmp     edx, 16
    jb      80f
    .if \W > 32
    cmp     edx, 32
    jb      75f
    vmovdqu64 ymm20, [rsi]
    vmovdqu64 ymm21, [rsi + rdx - 32]
    vmovdqu64 [rdi], ymm20
    vmovdqu64 [rdi + rdx - 32], ymm21
    verbline_return
    .endif
75: movups  xmm0, [rsi]
    movups  xmm1, [rsi + rdx - 16]
    movups  [rdi], xmm0
    movups  [rdi + rdx - 16], xmm1
    verbline_return

80: cmp     edx, 8
    jb      82f
    mov     rax, [rsi]
    mov     rcx, [rsi + rdx - 8]
    mov     [rdi], rax
    mov     [rdi + rdx - 8], rcx
    verbline_return
82: cmp     edx, 4
    jb      84f
    mov     eax, [rsi]
    mov     ecx, [rsi + rdx - 4]
    mov     [rdi], eax
    mov     [rdi + rdx - 4], ecx
    verbline_return
84: cmp     edx, 2
    jb      86f
    movzx   eax, word ptr [rsi]
    movzx   ecx, word ptr [rsi + rdx - 2]
    mov     [rdi], ax
    mov     [rdi + rdx - 2], cx
    verbline_return
86: test    edx, edx
    je      88f
    movzx   eax, byte ptr [rsi]
    mov     [rdi], al
88: verbline_return
    .size   \name, . - \name
    .endm

    .hidden verbline_guarded_begin, verbline_guarded_end, verbline_guarded_fault
    .globl  verbline_guarded_begin, verbline_guarded_end, verbline_guarded_fault
verbline_guarded_begin:
    verbline_copy verbline_copy_sse2, movups, movaps, xmm, 16
    verbline_copy verbline_copy_avx2, vmovdqu, vmovdqa, ymm, 32, vzeroupper
    verbline_copy verbline_copy_avx512, vmovdqu64, vmovdqa64, zmm2, 64

    verbline_function verbline_compare_swap     # (at, compare, swap, before)
    mov     rax, rsi
    lock cmpxchg [rdi], rdx
    mov     [rcx], rax
    verbline_return

    verbline_function verbline_fetch_add        # (at, add, before)
    lock xadd [rdi], rsi
    mov     [rdx], rsi
    verbline_return

    verbline_function verbline_store            # (at, value)
    xchg    [rdi], rsi
    verbline_return
verbline_guarded_end:

verbline_guarded_fault:
    xor     eax, eax
    ret

    .purgem verbline_copy
    .purgem verbline_function
    .purgem verbline_return
    .att_syntax prefix
    .popsection
)");

namespace verbline::memory {
namespace {

bool aligned(const std::byte* at) {
    return (reinterpret_cast<std::uintptr_t>(at) & 7) == 0;
}

}  // namespace

bool absorb_fault(ucontext_t& context) noexcept {
    auto& rip = context.uc_mcontext.gregs[REG_RIP];
    if (rip < reinterpret_cast<greg_t>(verbline_guarded_begin) || rip >= reinterpret_cast<greg_t>(verbline_guarded_end))
        return false;
    rip = reinterpret_cast<greg_t>(verbline_guarded_fault);
    return true;
}

bool guarded_copy(std::byte* to, const std::byte* from, std::size_t size) noexcept {
    // vbmi2 identifies the CPUs that do not slow down for 512-bit vectors: Ice Lake, Zen 4 and later.
    if (__builtin_cpu_supports("avx512vbmi2")) [[likely]]
        return verbline_copy_avx512(to, from, size);
    if (__builtin_cpu_supports("avx2")) return verbline_copy_avx2(to, from, size);
    return verbline_copy_sse2(to, from, size);
}

std::optional<std::uint64_t> guarded_compare_swap(std::byte* at, std::uint64_t compare, std::uint64_t swap) noexcept {
    std::uint64_t before = 0;
    if (!aligned(at) || !verbline_compare_swap(at, compare, swap, &before)) return std::nullopt;
    return before;
}

std::optional<std::uint64_t> guarded_fetch_add(std::byte* at, std::uint64_t add) noexcept {
    std::uint64_t before = 0;
    if (!aligned(at) || !verbline_fetch_add(at, add, &before)) return std::nullopt;
    return before;
}

bool guarded_store(std::byte* at, std::uint64_t value) noexcept {
    return aligned(at) && verbline_store(at, value);
}

}  // namespace verbline::memory
