// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Arithmetic of the ICRC's CRC-32 in the order in which it takes bits: polynomials over GF(2) of degree 31 at most,
/// the coefficient of x^0 in the highest bit. For values of run time; gf2.h is for constants, and takes half as long
/// again.

#include <cstdint>

namespace verbline::wire {

using Reflected = std::uint32_t;
constexpr Reflected reflected_generator = 0xedb8'8320;  ///< of Ethernet, without x^32
constexpr Reflected reflected_one = 0x8000'0000;

constexpr Reflected times_x(Reflected a) {
    return (a >> 1) ^ ((a & 1) != 0 ? reflected_generator : 0);
}

/// The product modulo the generator.
constexpr Reflected multiply(Reflected a, Reflected b) {
    Reflected product = 0;
    for (; a != 0; a <<= 1, b = times_x(b)) {
        if ((a & reflected_one) != 0) product ^= b;
    }
    return product;
}

}  // namespace verbline::wire
