// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Polynomials over GF(2), of which CRCs are remainders, for constants: bit n is the coefficient of x^n.

#include <bit>
#include <cstdint>
#include <utility>

namespace verbline::wire::gf2 {

using Polynomial = std::uint64_t;

/// Of a polynomial that is not zero.
constexpr unsigned degree(Polynomial p) {
    return 63 - static_cast<unsigned>(std::countl_zero(p));
}

/// The product modulo m; both factors are of lower degree than m.
constexpr Polynomial multiply(Polynomial a, Polynomial b, Polynomial m) {
    Polynomial product = 0;
    for (; b != 0; b >>= 1) {
        if (b & 1) product ^= a;
        a <<= 1;
        if (a >> degree(m) & 1) a ^= m;
    }
    return product;
}

/// The product of polynomials whose degrees add up to 63 at most.
constexpr Polynomial multiply(Polynomial a, Polynomial b) {
    Polynomial product = 0;
    for (; b != 0; b >>= 1, a <<= 1) {
        if (b & 1) product ^= a;
    }
    return product;
}

struct Division {
    Polynomial quotient, remainder;
};
constexpr Division divide(Polynomial a, Polynomial b) {
    Polynomial quotient = 0;
    while (a != 0 && degree(a) >= degree(b)) {
        const auto places = degree(a) - degree(b);
        quotient |= Polynomial{1} << places;
        a ^= b << places;
    }
    return {quotient, a};
}

/// x^n modulo m.
constexpr Polynomial power(unsigned n, Polynomial m) {
    Polynomial remainder = 1;
    for (; n > 0; --n) remainder = multiply(remainder, 2, m);
    return remainder;
}

/// 1 / a modulo m, by Euclid's algorithm; a and m have no common factor.
constexpr Polynomial inverse(Polynomial a, Polynomial m) {
    Polynomial before = m, now = divide(a, m).remainder, factor_before = 0, factor = 1;
    while (now != 1) {
        const auto [quotient, rest] = divide(before, now);
        before = std::exchange(now, rest);
        factor_before = std::exchange(factor, factor_before ^ multiply(divide(quotient, m).remainder, factor, m));
    }
    return factor;
}

constexpr std::uint64_t reversed(Polynomial p) {
    std::uint64_t bits = 0;
    for (unsigned n = 0; n < 64; ++n) bits |= (p >> n & 1) << (63 - n);
    return bits;
}

}  // namespace verbline::wire::gf2
