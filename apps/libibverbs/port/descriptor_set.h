// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A lock-free set of file descriptors. `contains` costs one load: every close of the program calls it.
///
/// Threads: any, signal handlers included.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace verbline::verbs {

class DescriptorSet {
public:
    static constexpr int capacity = 1 << 16;  ///< descriptors from here on cannot be members

    bool contains(int descriptor) const noexcept {
        return in_range(descriptor) && (word(descriptor).load(std::memory_order_relaxed) & bit(descriptor)) != 0;
    }
    void add(int descriptor) noexcept { word(descriptor).fetch_or(bit(descriptor), std::memory_order_relaxed); }
    void remove(int descriptor) noexcept {
        if (in_range(descriptor)) word(descriptor).fetch_and(~bit(descriptor), std::memory_order_relaxed);
    }
    void clear() noexcept {
        for (auto& each : words_) each.store(0, std::memory_order_relaxed);
    }
    /// The lowest member >= `from`, or `capacity` if there is none.
    int next(int from) const noexcept {
        while (from < capacity && !contains(from)) {
            const bool empty = word(from).load(std::memory_order_relaxed) == 0;
            from = empty ? (from / bits + 1) * bits : from + 1;
        }
        return from;
    }

    static bool in_range(int descriptor) noexcept { return descriptor >= 0 && descriptor < capacity; }

private:
    using Word = std::atomic<std::uint64_t>;
    static constexpr int bits = 64;

    Word& word(int descriptor) noexcept { return words_[static_cast<std::size_t>(descriptor / bits)]; }
    const Word& word(int descriptor) const noexcept { return words_[static_cast<std::size_t>(descriptor / bits)]; }
    static std::uint64_t bit(int descriptor) noexcept { return std::uint64_t{1} << (descriptor % bits); }

    std::array<Word, capacity / bits> words_{};
};

}  // namespace verbline::verbs
