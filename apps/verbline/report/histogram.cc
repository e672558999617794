// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/report/histogram.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace verbline::report {
namespace {

constexpr double bins_in_an_octave = 4;
/// The histogram's own times begin at a cycle; below this, a file was not written by it.
constexpr double least_microseconds = 1e-6;

int place(double microseconds) {
    return static_cast<int>(std::floor(bins_in_an_octave * std::log2(std::max(microseconds, least_microseconds))));
}

}  // namespace

std::vector<Bin> bins(const std::vector<Bucket>& buckets) {
    std::map<int, double> frames;
    for (const auto& bucket : buckets) frames[place(bucket.highest)] += bucket.frames;
    std::vector<Bin> all;
    if (frames.empty()) return all;
    for (int i = frames.begin()->first; i <= frames.rbegin()->first; ++i) {
        const auto found = frames.find(i);
        all.push_back({.low = std::exp2(i / bins_in_an_octave),
                       .high = std::exp2((i + 1) / bins_in_an_octave),
                       .frames = found == frames.end() ? 0 : found->second});
    }
    return all;
}

}  // namespace verbline::report
