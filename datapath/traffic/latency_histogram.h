// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A histogram of times from one cycle to years, of a constant relative precision: each power of two is divided into
/// 256 equal buckets, so a value is known to 0.4 %. Recording is an addition, whatever the value; nothing is allocated.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace verbline::traffic {

class LatencyHistogram {
public:
    void record(std::uint64_t value) noexcept {
        ++buckets_[index(value)];
        ++count_;
        sum_ += static_cast<double>(value);
        least_ = std::min(least_, value);
        most_ = std::max(most_, value);
    }
    LatencyHistogram& operator+=(const LatencyHistogram& other) {
        for (std::size_t i = 0; i < buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
        count_ += other.count_, sum_ += other.sum_;
        least_ = std::min(least_, other.least_), most_ = std::max(most_, other.most_);
        return *this;
    }

    std::uint64_t count() const { return count_; }
    std::uint64_t min() const { return count_ == 0 ? 0 : least_; }
    std::uint64_t max() const { return most_; }
    double mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }

    /// The least value that `percent` per cent of all are not above, to the precision of a bucket; 0 if there are none.
    std::uint64_t percentile(double percent) const {
        if (count_ == 0) return 0;
        const auto rank = std::max(1.0, std::ceil(percent / 100 * static_cast<double>(count_)));
        double below = 0;
        for (std::size_t i = 0; i < buckets_.size(); ++i) {
            below += static_cast<double>(buckets_[i]);
            if (below >= rank) return std::clamp(highest_of(i), min(), max());
        }
        return max();
    }

    /// Visits each bucket that is not empty, with its highest value and its count.
    void each(auto&& visit) const {
        for (std::size_t i = 0; i < buckets_.size(); ++i) {
            if (buckets_[i] != 0) visit(highest_of(i), buckets_[i]);
        }
    }

private:
    static constexpr unsigned precision = 8;  ///< bits
    static constexpr std::size_t half = std::size_t{1} << precision;

    /// Values below 512 have a bucket each; above, 256 for each power of two.
    static std::size_t index(std::uint64_t value) {
        if (value < 2 * half) return value;
        const auto shift = static_cast<unsigned>(std::bit_width(value)) - precision - 1;
        return half * shift + (value >> shift);
    }
    static std::uint64_t highest_of(std::size_t index) {
        if (index < 2 * half) return index;
        const auto shift = index / half - 1;
        return ((half + index % half + 1) << shift) - 1;
    }

    std::array<std::uint64_t, half * (64 - precision + 1)> buckets_{};
    std::uint64_t count_ = 0, least_ = std::numeric_limits<std::uint64_t>::max(), most_ = 0;
    double sum_ = 0;
};

}  // namespace verbline::traffic
