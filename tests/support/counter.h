// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string_view>

namespace verbline::test {

/// Of whatever has `counters(CounterVisitor)`; all ones if there is none of that name, so that no misspelt one is zero.
template <class Owner>
std::uint64_t counter(const Owner& owner, std::string_view wanted) {
    std::uint64_t found = ~std::uint64_t{0};
    owner.counters([&](std::string_view name, std::uint64_t value, std::string_view) {
        if (name == wanted) found = value;
    });
    return found;
}

}  // namespace verbline::test
