// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Big-endian loads and stores on byte spans, and the parse errors of headers. Callers check the length; offsets are in
/// bytes from the start of the span.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace verbline::wire {

/// Why a header was rejected. truncated: the bytes end too early; version: unsupported version or type; length: a
/// length field contradicts the bytes present or its own minimum; checksum: it does not verify.
enum class Malformed : std::uint8_t { truncated, version, length, checksum };

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

constexpr std::uint8_t load8(Bytes b, std::size_t at) {
    return static_cast<std::uint8_t>(b[at]);
}
constexpr std::uint16_t load16(Bytes b, std::size_t at) {
    return static_cast<std::uint16_t>(load8(b, at) << 8 | load8(b, at + 1));
}
constexpr std::uint32_t load24(Bytes b, std::size_t at) {
    return std::uint32_t{load8(b, at)} << 16 | load16(b, at + 1);
}
constexpr std::uint32_t load32(Bytes b, std::size_t at) {
    return std::uint32_t{load16(b, at)} << 16 | load16(b, at + 2);
}
constexpr std::uint64_t load64(Bytes b, std::size_t at) {
    return std::uint64_t{load32(b, at)} << 32 | load32(b, at + 4);
}

constexpr void store8(MutableBytes b, std::size_t at, std::uint64_t v) {
    b[at] = static_cast<std::byte>(v);
}
constexpr void store16(MutableBytes b, std::size_t at, std::uint64_t v) {
    store8(b, at, v >> 8), store8(b, at + 1, v);
}
constexpr void store24(MutableBytes b, std::size_t at, std::uint64_t v) {
    store8(b, at, v >> 16), store16(b, at + 1, v);
}
constexpr void store32(MutableBytes b, std::size_t at, std::uint64_t v) {
    store16(b, at, v >> 16), store16(b, at + 2, v);
}
constexpr void store64(MutableBytes b, std::size_t at, std::uint64_t v) {
    store32(b, at, v >> 32), store32(b, at + 4, v);
}

}  // namespace verbline::wire
