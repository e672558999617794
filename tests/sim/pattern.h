// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What messages hold: bytes that tell one message from every other, and every place in it from the next.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace verbline::sim {

using MessageId = std::uint64_t;  ///< from 1; 0: what memory holds before anybody writes to it

inline constexpr std::byte untouched{0x5a};

/// The first eight bytes are the id, so that who receives a datagram knows what it should be.
inline void write_pattern(std::span<std::byte> out, MessageId id) {
    if (id == 0) {
        std::ranges::fill(out, untouched);
        return;
    }
    std::uint64_t word = id;
    std::size_t at = 0;
    for (; at + sizeof(word) <= out.size(); at += sizeof(word)) {
        std::memcpy(&out[at], &word, sizeof(word));
        word = (word + 0x9e3779b97f4a7c15) ^ (id << 32);
    }
    if (at < out.size()) std::memcpy(&out[at], &word, out.size() - at);
}

inline std::vector<std::byte> pattern(MessageId id, std::size_t size) {
    std::vector<std::byte> bytes(size);
    write_pattern(bytes, id);
    return bytes;
}

inline bool is_untouched(std::span<const std::byte> bytes) {
    return bytes.empty() ||
           (bytes[0] == untouched && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

inline bool holds(std::span<const std::byte> bytes, MessageId id) {
    return id == 0 ? is_untouched(bytes) : std::ranges::equal(bytes, pattern(id, bytes.size()));
}

/// Each byte is that of one of these messages, at its place: what interrupted or competing writes may leave.
inline bool mixes(std::span<const std::byte> bytes, std::span<const MessageId> ids) {
    if (std::ranges::any_of(ids, [&](MessageId id) { return holds(bytes, id); })) return true;
    std::vector<bool> explained(bytes.size());
    for (const auto id : ids) {
        const auto candidate = pattern(id, bytes.size());
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            if (bytes[i] == candidate[i]) explained[i] = true;
        }
    }
    return std::ranges::find(explained, false) == explained.end();
}

}  // namespace verbline::sim
