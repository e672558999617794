// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The ports of the relays under test: two that relay, and one that does not.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace verbline::dhcp {

inline constexpr std::size_t lan = 0, ib0 = 1, silent = 2;

/// A counter of one port; all ones if there is none of that name.
template <class Relay>
std::uint64_t count_of(const Relay& relay, std::size_t port, std::string_view name) {
    std::uint64_t found = ~std::uint64_t{0};
    relay.counters(port, [&](std::string_view each, std::uint64_t value, std::string_view) {
        if (each == name) found = value;
    });
    return found;
}

}  // namespace verbline::dhcp
