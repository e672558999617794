// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Which file descriptors are ours. Asked at every write and close of the program, and answered by one load.
///
/// Threads: any, signal handlers included.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace verbline::verbs {

class DescriptorSet {
public:
    static constexpr int capacity = 1 << 16;  ///< none above that can be one of ours

    bool contains(int descriptor) const noexcept {
        return in_range(descriptor) && (word(descriptor).load(std::memory_order_relaxed) & bit(descriptor)) != 0;
    }
    void add(int descriptor) noexcept { word(descriptor).fetch_or(bit(descriptor), std::memory_order_relaxed); }
    void remove(int descriptor) noexcept { word(descriptor).fetch_and(~bit(descriptor), std::memory_order_relaxed); }

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
