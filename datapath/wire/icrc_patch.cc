// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/icrc_patch.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstdint>

#include "datapath/wire/icrc.h"

namespace verbline::wire {
namespace {

/// Polynomials of degree 31 at most, the coefficient of x^0 in the highest bit, as in a CRC that takes the least
/// significant bit first.
/// Their multiplication is done for each packet; that of gf2.h, for constants, would cost it 94 ns where this takes 59.
using Reflected = std::uint32_t;
constexpr Reflected reflected_generator = 0xedb8'8320;  ///< of Ethernet, without x^32
constexpr Reflected one = 0x8000'0000;

constexpr Reflected times_x(Reflected a) {
    return (a >> 1) ^ ((a & 1) != 0 ? reflected_generator : 0);
}

/// The product modulo the generator.
constexpr Reflected multiply(Reflected a, Reflected b) {
    Reflected product = 0;
    for (; a != 0; a <<= 1, b = times_x(b)) {
        if ((a & one) != 0) product ^= b;
    }
    return product;
}

/// x to the power of 8 * 2^n: what 2^n bytes of zeros multiply a CRC by.
constexpr auto zeros = [] {
    std::array<Reflected, 16> powers{};
    powers[0] = one >> 8;
    for (std::size_t n = 1; n < powers.size(); ++n) powers[n] = multiply(powers[n - 1], powers[n - 1]);
    return powers;
}();

Reflected behind_zeros(Reflected crc, std::size_t bytes) {
    assert(bytes < std::size_t{1} << zeros.size());
    for (; bytes != 0; bytes &= bytes - 1) crc = multiply(crc, zeros[static_cast<unsigned>(std::countr_zero(bytes))]);
    return crc;
}

}  // namespace

void patch_with_icrc(MutableBytes packet, std::size_t at, Bytes with) noexcept {
    const auto place = packet.subspan(at, with.size());
    Reflected change = 0;
    for (std::size_t i = 0; i < with.size(); ++i) {
        change ^= std::to_integer<std::uint32_t>(place[i] ^ with[i]);
        for (unsigned bit = 0; bit < 8; ++bit) change = times_x(change);
    }
    std::ranges::copy(with, place.begin());
    const auto icrc = packet.last(icrc_size);
    change = behind_zeros(change, packet.size() - icrc_size - at - with.size());
    for (unsigned i = 0; i < icrc_size; ++i) icrc[i] ^= static_cast<std::byte>(change >> 8 * i);
}

}  // namespace verbline::wire
