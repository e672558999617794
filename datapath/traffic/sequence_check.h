// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Loss, duplication and order of one stream, by sequence number.
///
///                      |<------- window ------->|
///      too late to say |  seen or not, a bit each | highest so far | not seen yet
///
/// A receive queue sees part of a stream's frames, as receive-side scaling spreads its flows: gaps are therefore no
/// loss by themselves. What has been lost is known from all queues together (`StreamTotals`).

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace verbline::traffic {

/// Of a stream, of one or several receive queues.
struct StreamTotals {
    std::uint64_t received = 0;             ///< different frames
    std::uint64_t duplicates = 0;           ///< frames that had come before
    std::uint64_t reordered = 0;            ///< frames that came after a later one of the same queue
    std::uint64_t lowest = 0, highest = 0;  ///< numbers, if any frame was received

    StreamTotals& operator+=(const StreamTotals& other) {
        if (other.received == 0) return *this;
        lowest = received == 0 ? other.lowest : std::min(lowest, other.lowest);
        highest = std::max(highest, other.highest);
        received += other.received, duplicates += other.duplicates, reordered += other.reordered;
        return *this;
    }
    /// Missing between the lowest and the highest number. What a sender knows to have sent may be more.
    std::uint64_t missing() const {
        const auto span = received == 0 ? 0 : highest - lowest + 1;
        return span - std::min(received, span);
    }
};

class SequenceCheck {
public:
    /// A frame that comes so many frames late counts as reordered, though it may be a duplicate.
    static constexpr std::size_t window = 4096;

    void receive(std::uint64_t sequence) noexcept {
        if (totals_.received == 0) return begin(sequence);
        if (sequence > totals_.highest) return advance(sequence);
        if (totals_.highest - sequence < window) {
            if (test_and_set(sequence)) return void(++totals_.duplicates);
        }
        ++totals_.received, ++totals_.reordered;
        totals_.lowest = std::min(totals_.lowest, sequence);
    }
    const StreamTotals& totals() const { return totals_; }

private:
    static constexpr std::size_t word_bits = 64;

    void begin(std::uint64_t sequence) {
        seen_.fill(0);
        totals_.received = 1;
        totals_.lowest = totals_.highest = sequence;
        test_and_set(sequence);
    }
    void advance(std::uint64_t sequence) {
        // Bits between the old and the new highest number are of frames a window ago.
        const auto gap = std::min<std::uint64_t>(sequence - totals_.highest, window);
        for (std::uint64_t number = sequence - gap + 1; number < sequence; ++number) clear(number);
        clear(sequence);
        test_and_set(sequence);
        totals_.highest = sequence;
        ++totals_.received;
    }
    bool test_and_set(std::uint64_t sequence) {
        auto& word = seen_[sequence % window / word_bits];
        const auto bit = std::uint64_t{1} << sequence % word_bits;
        const bool was = (word & bit) != 0;
        word |= bit;
        return was;
    }
    void clear(std::uint64_t sequence) {
        seen_[sequence % window / word_bits] &= ~(std::uint64_t{1} << sequence % word_bits);
    }

    StreamTotals totals_;
    std::array<std::uint64_t, window / word_bits> seen_{};
};

}  // namespace verbline::traffic
