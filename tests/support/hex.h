// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Bytes from hexadecimal text and back. Blanks in the text are skipped.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace verbline::test {

constexpr unsigned hex_digit(char c) {
    return static_cast<unsigned>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
}

inline std::vector<std::byte> from_hex(std::string_view text) {
    std::vector<std::byte> bytes;
    unsigned digits = 0, value = 0;
    for (const char c : text) {
        if (c == ' ') continue;
        value = value << 4 | hex_digit(c);
        if (++digits % 2 == 0) bytes.push_back(static_cast<std::byte>(value));
    }
    return bytes;
}

inline std::string to_hex(std::span<const std::byte> bytes) {
    std::string text;
    for (const auto byte : bytes) {
        for (const unsigned half : {static_cast<unsigned>(byte) >> 4, static_cast<unsigned>(byte) & 15}) {
            text += "0123456789abcdef"[half];
        }
    }
    return text;
}

}  // namespace verbline::test
