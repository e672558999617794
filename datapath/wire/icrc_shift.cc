// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/icrc_shift.h"

#include <bit>
#include <cassert>

#include "datapath/wire/reflected.h"

namespace verbline::wire {
namespace {

/// x to the power of 8 * 2^n: what 2^n bytes of zeros multiply a CRC by.
constexpr auto zeros = [] {
    std::array<Reflected, 16> powers{};
    powers[0] = reflected_one >> 8;
    for (std::size_t n = 1; n < powers.size(); ++n) powers[n] = multiply(powers[n - 1], powers[n - 1]);
    return powers;
}();

}  // namespace

std::uint32_t icrc_behind_zeros(std::uint32_t state, std::size_t bytes) {
    assert(bytes < std::size_t{1} << zeros.size());
    for (; bytes != 0; bytes &= bytes - 1)
        state = multiply(state, zeros[static_cast<unsigned>(std::countr_zero(bytes))]);
    return state;
}

IcrcZeros::IcrcZeros(std::size_t bytes) {
    for (unsigned table = 0; table < tables_.size(); ++table) {
        for (std::uint32_t value = 0; value < 256; ++value)
            tables_[table][value] = icrc_behind_zeros(value << 8 * table, bytes);
    }
}

}  // namespace verbline::wire
