// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/crc_fold.h"

#include <array>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "datapath/wire/gf2.h"

// How one pass gives both CRCs.
//
// A packet is a polynomial, and a CRC its remainder by a generator. Folding replaces the first bytes of the packet by
// others further on that leave the same remainder, until sixteen bytes are left. If it does so modulo the product of
// both generators, of degree 48, these sixteen leave both right remainders. By the Chinese remainder theorem the two
// states with which the CRCs begin are one polynomial too, which is added to the packet's first bytes.
//
// Polynomials are bit-reversed, as packets are: the lowest bit is the highest power. The product of two reversed
// numbers comes out one place too low, hence exponents less one.
//
// The odd bytes of a packet, its size modulo sixteen, are its first ones: zeros may be put in front of them.

namespace verbline::wire {

#if defined(__x86_64__)

namespace folding {
namespace {

using namespace gf2;

constexpr Polynomial icrc_generator = 0x1'04c1'1db7;  ///< of Ethernet's CRC-32
constexpr Polynomial vcrc_generator = 0x1'100b;       ///< x^16 + x^12 + x^3 + x + 1

/// What a state of `width` bits, ending at bit 63, is multiplied by, to be added to the sixteen bytes that begin `n`
/// bytes behind the place of the state. The result is zero modulo `other`, the second generator (1: there is none).
using Injection = std::array<std::uint64_t, 16>;
constexpr Injection injection(unsigned width, Polynomial generator, Polynomial other) {
    const auto one = multiply(inverse(divide(other, generator).remainder, generator), other);  // modulo `generator`
    const auto both = multiply(generator, other);
    Injection factors{};
    for (unsigned n = 0; n < factors.size(); ++n) {
        factors[n] = reversed(multiply(one, power(127 - width + 8 * n, both), both));
    }
    return factors;
}

#define FOLDING __attribute__((target("pclmul,ssse3,sse4.1,avx2,vpclmulqdq")))
#define FOLDING_WIDE __attribute__((target("pclmul,ssse3,sse4.1,avx2,vpclmulqdq,avx512f")))

/// The powers that carry sixteen bytes `distance` bytes on, modulo `generator`: each half has its own.
template <Polynomial generator, unsigned distance>
struct Powers {
    static constexpr auto low = static_cast<long long>(reversed(power(8 * distance + 63, generator)));
    static constexpr auto high = static_cast<long long>(reversed(power(8 * distance - 1, generator)));
};

template <Polynomial generator, unsigned distance>
FOLDING inline __m128i carry(__m128i block) {
    using P = Powers<generator, distance>;
    const __m128i powers = _mm_set_epi64x(P::high, P::low);
    return _mm_xor_si128(_mm_clmulepi64_si128(block, powers, 0x00), _mm_clmulepi64_si128(block, powers, 0x11));
}

template <Polynomial generator, unsigned distance>
FOLDING inline __m256i carry(__m256i blocks, __m256i next) {
    using P = Powers<generator, distance>;
    const __m256i powers = _mm256_set_epi64x(P::high, P::low, P::high, P::low);
    return _mm256_xor_si256(_mm256_xor_si256(_mm256_clmulepi64_epi128(blocks, powers, 0x00),
                                             _mm256_clmulepi64_epi128(blocks, powers, 0x11)),
                            next);
}

template <Polynomial generator, unsigned distance>
FOLDING_WIDE inline __m512i carry(__m512i blocks, __m512i next) {
    using P = Powers<generator, distance>;
    const __m512i powers = _mm512_set4_epi64(P::high, P::low, P::high, P::low);
    constexpr int exclusive_or = 0x96;  // of all three
    return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(blocks, powers, 0x00),
                                     _mm512_clmulepi64_epi128(blocks, powers, 0x11), next, exclusive_or);
}

FOLDING inline __m128i load(const std::byte* at) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
}
FOLDING inline __m256i load_two(const std::byte* at) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
}

FOLDING_WIDE inline __m512i load_four(const std::byte* at) {
    return _mm512_loadu_si512(at);
}

/// The first `n` bytes, behind 16 - n zeros.
FOLDING inline __m128i load_odd(const std::byte* at, std::size_t n) {
    alignas(16) static constexpr std::array<std::int8_t, 32> places{
        -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,  // selects zero
        0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15};
    return _mm_shuffle_epi8(load(at), _mm_loadu_si128(reinterpret_cast<const __m128i*>(places.data() + n)));
}

/// A state, ending at bit 63, times its factor.
FOLDING inline __m128i inject(std::uint64_t state, std::uint64_t factor) {
    return _mm_clmulepi64_si128(_mm_cvtsi64_si128(static_cast<long long>(state)),
                                _mm_cvtsi64_si128(static_cast<long long>(factor)), 0x00);
}

/// So many whole blocks of sixteen bytes are few: each is carried to the last one at once, so that none waits for
/// another.
constexpr std::size_t most_few = 16;

/// The powers that carry a block so many blocks on: from `most_few` down to none, for which the exponent is -1.
struct BlockPowers {
    std::uint64_t low = 0, high = 0;
};
template <Polynomial generator>
constexpr auto block_powers = [] {
    constexpr auto block = power(128, generator);
    auto low = power(63, generator);
    auto high = (generator ^ 1) >> 1;  // times x it is one, as the generator ends with one
    std::array<BlockPowers, most_few + 1> powers{};
    for (auto by = powers.rbegin(); by != powers.rend(); ++by) {
        *by = {reversed(low), reversed(high)};
        low = multiply(low, block, generator);
        high = multiply(high, block, generator);
    }
    return powers;
}();

template <Polynomial generator>
FOLDING inline __m128i carry_blocks(__m128i block, std::size_t distance) {
    const auto* const by = &block_powers<generator>[most_few - distance];
    const __m128i powers = _mm_loadu_si128(reinterpret_cast<const __m128i*>(by));
    return _mm_xor_si128(_mm_clmulepi64_si128(block, powers, 0x00), _mm_clmulepi64_si128(block, powers, 0x11));
}
/// Of the first one; the second is a block nearer.
template <Polynomial generator>
FOLDING inline __m256i carry_blocks(__m256i blocks, std::size_t distance) {
    const auto* const by = &block_powers<generator>[most_few - distance];
    const __m256i powers = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(by));
    return _mm256_xor_si256(_mm256_clmulepi64_epi128(blocks, powers, 0x00),
                            _mm256_clmulepi64_epi128(blocks, powers, 0x11));
}

/// Sixteen bytes that leave the same remainder as `bytes`, up to `most_few` blocks. `first` is added to the first whole
/// block.
template <Polynomial generator>
FOLDING inline __m128i fold_few(__m128i first, Bytes bytes) {
    const auto odd = bytes.size() % 16;
    const auto* at = bytes.data();
    auto blocks = bytes.size() / 16;
    __m128i alone = _mm_setzero_si128();
    if (odd != 0) {
        alone = carry_blocks<generator>(load_odd(at, odd), blocks);
        at += odd;
    }
    if (blocks % 2 != 0) {
        alone = _mm_xor_si128(alone, carry_blocks<generator>(_mm_xor_si128(first, load(at)), --blocks));
        first = _mm_setzero_si128();
        at += 16;
    }
    __m256i pairs = _mm256_setzero_si256(), added = _mm256_zextsi128_si256(first);
    for (; blocks != 0; blocks -= 2, at += 32) {
        pairs = _mm256_xor_si256(pairs, carry_blocks<generator>(_mm256_xor_si256(added, load_two(at)), blocks - 1));
        added = _mm256_setzero_si256();
    }
    return _mm_xor_si128(alone, _mm_xor_si128(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256(pairs, 1)));
}

/// The same of more bytes.
template <Polynomial generator>
FOLDING inline __m128i fold_many(__m128i first, Bytes bytes) {
    const auto odd = bytes.size() % 16;
    const auto* at = bytes.data() + odd;
    const auto end = bytes.data() + bytes.size();
    if (odd != 0) first = _mm_xor_si128(first, carry<generator, 16>(load_odd(bytes.data(), odd)));
    __m256i a = _mm256_xor_si256(_mm256_zextsi128_si256(first), load_two(at));
    __m256i b = load_two(at + 32), c = load_two(at + 64), d = load_two(at + 96);
    for (at += 128; end - at >= 128; at += 128) {
        a = carry<generator, 128>(a, load_two(at));
        b = carry<generator, 128>(b, load_two(at + 32));
        c = carry<generator, 128>(c, load_two(at + 64));
        d = carry<generator, 128>(d, load_two(at + 96));
    }
    a = carry<generator, 96>(a, carry<generator, 64>(b, carry<generator, 32>(c, d)));
    for (; end - at >= 32; at += 32) a = carry<generator, 32>(a, load_two(at));
    auto last = _mm_xor_si128(carry<generator, 16>(_mm256_castsi256_si128(a)), _mm256_extracti128_si256(a, 1));
    if (at != end) last = _mm_xor_si128(carry<generator, 16>(last), load(at));
    return last;
}

/// The same in wider registers, of so many whole blocks.
constexpr std::size_t least_wide = 16;
template <Polynomial generator>
FOLDING_WIDE __m128i fold_many_wide(__m128i first, Bytes bytes) {
    const auto odd = bytes.size() % 16;
    const auto* at = bytes.data() + odd;
    const auto end = bytes.data() + bytes.size();
    if (odd != 0) first = _mm_xor_si128(first, carry<generator, 16>(load_odd(bytes.data(), odd)));
    __m512i a = _mm512_xor_si512(_mm512_zextsi128_si512(first), load_four(at));
    __m512i b = load_four(at + 64), c = load_four(at + 128), d = load_four(at + 192);
    for (at += 256; end - at >= 256; at += 256) {
        a = carry<generator, 256>(a, load_four(at));
        b = carry<generator, 256>(b, load_four(at + 64));
        c = carry<generator, 256>(c, load_four(at + 128));
        d = carry<generator, 256>(d, load_four(at + 192));
    }
    a = carry<generator, 192>(a, carry<generator, 128>(b, carry<generator, 64>(c, d)));
    for (; end - at >= 64; at += 64) a = carry<generator, 64>(a, load_four(at));
    auto pair = carry<generator, 32>(_mm512_castsi512_si256(a), _mm512_extracti64x4_epi64(a, 1));
    if (end - at >= 32) {
        pair = carry<generator, 32>(pair, load_two(at));
        at += 32;
    }
    auto last = _mm_xor_si128(carry<generator, 16>(_mm256_castsi256_si128(pair)), _mm256_extracti128_si256(pair, 1));
    if (at != end) last = _mm_xor_si128(carry<generator, 16>(last), load(at));
    return last;
}

/// The state of a 32-bit CRC after these sixteen bytes, if it was zero before: Barrett's reduction.
template <Polynomial generator>
FOLDING inline std::uint32_t reduce(__m128i block) {
    static_assert(degree(generator) == 32);
    constexpr auto to_96_bits = static_cast<long long>(reversed(power(95, generator)));
    constexpr auto to_64_bits = static_cast<long long>(reversed(power(63, generator)));
    // x^64 divided by the generator, and the generator, both of 33 bits.
    constexpr Polynomial top = Polynomial{1} << 32;
    constexpr auto quotient =
        static_cast<long long>(reversed(top ^ divide((generator ^ top) << 32, generator).quotient) >> 31);
    constexpr auto divisor = static_cast<long long>(reversed(generator) >> 31);
    const __m128i powers = _mm_set_epi64x(to_64_bits, to_96_bits), barrett = _mm_set_epi64x(divisor, quotient);
    const __m128i low_32_bits = _mm_set_epi64x(0, 0xffff'ffff);
    block = _mm_xor_si128(_mm_clmulepi64_si128(block, powers, 0x00), _mm_slli_si128(_mm_srli_si128(block, 8), 4));
    block = _mm_srli_si128(_mm_xor_si128(_mm_clmulepi64_si128(block, powers, 0x10), block), 8);
    const __m128i times = _mm_clmulepi64_si128(_mm_and_si128(block, low_32_bits), barrett, 0x00);
    const __m128i multiple = _mm_clmulepi64_si128(_mm_and_si128(times, low_32_bits), barrett, 0x10);
    return static_cast<std::uint32_t>(_mm_extract_epi32(_mm_xor_si128(block, multiple), 1));
}

template <Polynomial generator>
FOLDING inline __m128i fold(__m128i first, Bytes bytes, FoldWidth width) {
    const auto blocks = bytes.size() / 16;
    if (width == FoldWidth::bits_512 && blocks >= least_wide) return fold_many_wide<generator>(first, bytes);
    return blocks <= most_few ? fold_few<generator>(first, bytes) : fold_many<generator>(first, bytes);
}

FOLDING std::uint32_t icrc(std::uint32_t state, Bytes bytes, FoldWidth width) {
    static constexpr auto factors = injection(32, icrc_generator, 1);
    const auto first = inject(std::uint64_t{state} << 32, factors[bytes.size() % 16]);
    return reduce<icrc_generator>(fold<icrc_generator>(first, bytes, width));
}

FOLDING CrcStates both_crcs(CrcStates states, Bytes bytes, FoldWidth width) {
    static constexpr auto icrc_factors = injection(32, icrc_generator, vcrc_generator);
    static constexpr auto vcrc_factors = injection(16, vcrc_generator, icrc_generator);
    static constexpr auto both = multiply(icrc_generator, vcrc_generator);
    // The CRC-16 as a CRC-32, whose generator is a multiple by x^16: the lower half of that one's state.
    static constexpr Polynomial vcrc_of_32_bits = vcrc_generator << 16;
    const auto odd = bytes.size() % 16;
    const __m128i first = _mm_xor_si128(inject(std::uint64_t{states.icrc} << 32, icrc_factors[odd]),
                                        inject(std::uint64_t{states.vcrc} << 48, vcrc_factors[odd]));
    const __m128i last = fold<both>(first, bytes, width);
    return {reduce<icrc_generator>(last), static_cast<std::uint16_t>(reduce<vcrc_of_32_bits>(last))};
}

}  // namespace
}  // namespace folding

bool can_fold_crcs(FoldWidth width) {
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("pclmul") || !__builtin_cpu_supports("vpclmulqdq"))
        return false;
    // vbmi2 identifies the CPUs that do not slow down for 512-bit vectors: Ice Lake, Zen 4 and later.
    return width == FoldWidth::bits_256 || __builtin_cpu_supports("avx512vbmi2");
}

FoldWidth widest_fold() {
    return __builtin_cpu_supports("avx512vbmi2") ? FoldWidth::bits_512 : FoldWidth::bits_256;
}

std::uint32_t fold_icrc(std::uint32_t state, Bytes bytes, FoldWidth width) {
    return folding::icrc(state, bytes, width);
}

CrcStates fold_crcs(CrcStates states, Bytes bytes, FoldWidth width) {
    return folding::both_crcs(states, bytes, width);
}

#else

bool can_fold_crcs(FoldWidth) {
    return false;
}

FoldWidth widest_fold() {
    return FoldWidth::bits_256;
}

std::uint32_t fold_icrc(std::uint32_t, Bytes, FoldWidth) {
    std::unreachable();
}

CrcStates fold_crcs(CrcStates, Bytes, FoldWidth) {
    std::unreachable();
}

#endif

}  // namespace verbline::wire
