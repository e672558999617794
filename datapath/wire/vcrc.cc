// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/vcrc.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "datapath/wire/gf2.h"

namespace verbline::wire {
namespace {

constexpr std::uint16_t vcrc_generator = 0xd008;  // x^16 + x^12 + x^3 + x + 1, bit-reversed and without x^16

// Eight tables: table[n][b] is the state that byte b leaves n bytes later, so that eight bytes are eight independent
// look-ups.
using Tables = std::array<std::array<std::uint16_t, 256>, 8>;
constexpr Tables tables = [] {
    Tables t{};
    for (unsigned b = 0; b < 256; ++b) {
        std::uint16_t state = static_cast<std::uint16_t>(b);
        for (auto& table : t) {
            for (int bit = 0; bit < 8; ++bit) {
                state = static_cast<std::uint16_t>(state >> 1 ^ (state & 1 ? vcrc_generator : 0));
            }
            table[b] = state;
        }
    }
    return t;
}();

template <std::size_t width>
constexpr std::uint16_t take(std::uint16_t state, Bytes bytes) {
    std::uint16_t result = width == 1 ? static_cast<std::uint16_t>(state >> 8) : 0;
    for (std::size_t i = 0; i < width; ++i) {
        const unsigned carried = i < 2 ? state >> (8 * i) & 0xff : 0;
        result ^= tables[width - 1 - i][load8(bytes, i) ^ carried];
    }
    return result;
}

constexpr std::uint16_t by_table(std::uint16_t state, Bytes bytes) {
    for (; bytes.size() >= 8; bytes = bytes.subspan(8)) state = take<8>(state, bytes);
    if (bytes.size() >= 4) state = take<4>(state, bytes), bytes = bytes.subspan(4);
    for (; !bytes.empty(); bytes = bytes.subspan(1)) state = take<1>(state, bytes);
    return state;
}

#if defined(__x86_64__)

constexpr gf2::Polynomial vcrc_polynomial = 0x1'100b;  // the generator, as gf2.h has it

// Powers that carry sixteen bytes `distance` bytes on: each half is multiplied by its own x^(8 * distance), modulo the
// generator. The product of two bit-reversed numbers comes out one place too low, hence the exponents less one.
consteval long long low_power(unsigned distance) {
    return static_cast<long long>(gf2::reversed(gf2::power(8 * distance + 63, vcrc_polynomial)));
}
consteval long long high_power(unsigned distance) {
    return static_cast<long long>(gf2::reversed(gf2::power(8 * distance - 1, vcrc_polynomial)));
}

#define CARRYLESS __attribute__((target("pclmul,sse4.1")))
#define CARRYLESS_WIDE __attribute__((target("pclmul,sse4.1,avx512f,vpclmulqdq")))

template <unsigned distance>
CARRYLESS inline __m128i carry(__m128i block) {
    const __m128i powers = _mm_set_epi64x(high_power(distance), low_power(distance));
    return _mm_xor_si128(_mm_clmulepi64_si128(block, powers, 0x00), _mm_clmulepi64_si128(block, powers, 0x11));
}

CARRYLESS inline __m128i load(const std::byte* at) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
}

/// The rest of a packet, still to be processed.
struct Rest {
    const std::byte* at;
    std::size_t size;
};

CARRYLESS inline std::uint16_t finish(__m128i block, Rest rest) {
    for (; rest.size >= 16; rest.at += 16, rest.size -= 16) block = _mm_xor_si128(carry<16>(block), load(rest.at));
    std::array<std::byte, 16> bytes;
    std::memcpy(bytes.data(), &block, sizeof block);
    return by_table(by_table(0, bytes), Bytes(rest.at, rest.size));
}

CARRYLESS inline std::uint16_t finish(__m128i a, __m128i b, __m128i c, __m128i d, Rest rest) {
    return finish(_mm_xor_si128(_mm_xor_si128(carry<48>(a), carry<32>(b)), _mm_xor_si128(carry<16>(c), d)), rest);
}

CARRYLESS std::uint16_t by_carryless(std::uint16_t state, Bytes bytes) {
    if (bytes.size() < 16) return by_table(state, bytes);
    const std::byte* at = bytes.data();
    __m128i a = _mm_xor_si128(load(at), _mm_cvtsi32_si128(state));
    if (bytes.size() < 64) return finish(a, {at + 16, bytes.size() - 16});
    __m128i b = load(at + 16), c = load(at + 32), d = load(at + 48);
    std::size_t left = bytes.size() - 64;
    for (at += 64; left >= 64; at += 64, left -= 64) {
        a = _mm_xor_si128(carry<64>(a), load(at));
        b = _mm_xor_si128(carry<64>(b), load(at + 16));
        c = _mm_xor_si128(carry<64>(c), load(at + 32));
        d = _mm_xor_si128(carry<64>(d), load(at + 48));
    }
    return finish(a, b, c, d, {at, left});
}

template <unsigned distance>
CARRYLESS_WIDE inline __m512i carry_wide(__m512i block, __m512i next) {
    const __m512i powers =
        _mm512_set_epi64(high_power(distance), low_power(distance), high_power(distance), low_power(distance),
                         high_power(distance), low_power(distance), high_power(distance), low_power(distance));
    constexpr int exclusive_or = 0x96;  // of three, as a truth table
    return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(block, powers, 0x00),
                                     _mm512_clmulepi64_epi128(block, powers, 0x11), next, exclusive_or);
}

CARRYLESS_WIDE std::uint16_t by_carryless_wide(std::uint16_t state, Bytes bytes) {
    if (bytes.size() < 256) return by_carryless(state, bytes);
    const std::byte* at = bytes.data();
    std::size_t left = bytes.size() - 256;
    __m512i a = _mm512_xor_si512(_mm512_loadu_si512(at), _mm512_zextsi128_si512(_mm_cvtsi32_si128(state)));
    __m512i b = _mm512_loadu_si512(at + 64), c = _mm512_loadu_si512(at + 128), d = _mm512_loadu_si512(at + 192);
    for (at += 256; left >= 256; at += 256, left -= 256) {
        a = carry_wide<256>(a, _mm512_loadu_si512(at));
        b = carry_wide<256>(b, _mm512_loadu_si512(at + 64));
        c = carry_wide<256>(c, _mm512_loadu_si512(at + 128));
        d = carry_wide<256>(d, _mm512_loadu_si512(at + 192));
    }
    d = carry_wide<64>(c, carry_wide<128>(b, carry_wide<192>(a, d)));
    for (; left >= 64; at += 64, left -= 64) d = carry_wide<64>(d, _mm512_loadu_si512(at));
    __m128i lanes[4];
    _mm512_storeu_si512(lanes, d);
    return finish(lanes[0], lanes[1], lanes[2], lanes[3], {at, left});
}

#endif

}  // namespace

bool Vcrc::available(Engine engine) {
#if defined(__x86_64__)
    const bool carryless = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
    if (engine == Engine::carryless) return carryless;
    if (engine == Engine::carryless_wide) {
        return carryless && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("vpclmulqdq");
    }
#endif
    return engine == Engine::table;
}

Vcrc::Engine Vcrc::best() {
    if (available(Engine::carryless_wide)) return Engine::carryless_wide;
    return available(Engine::carryless) ? Engine::carryless : Engine::table;
}

void Vcrc::add(Bytes bytes) {
    switch (engine_) {
#if defined(__x86_64__)
        case Engine::carryless_wide: state_ = by_carryless_wide(state_, bytes); break;
        case Engine::carryless: state_ = by_carryless(state_, bytes); break;
#endif
        default: state_ = by_table(state_, bytes);
    }
}

bool Vcrc::verifies() const {
    // A packet followed by its own CRC always leaves the same state, because the CRC cancels all but its complement.
    constexpr std::uint16_t remainder = by_table(0, std::array{std::byte{0xff}, std::byte{0xff}});
    return state_ == remainder;
}

std::array<std::byte, vcrc_size> Vcrc::bytes() const {
    return {static_cast<std::byte>(value()), static_cast<std::byte>(value() >> 8)};
}

}  // namespace verbline::wire
