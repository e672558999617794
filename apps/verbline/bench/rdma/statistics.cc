// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/rdma/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace verbline::rdma_bench {

PeakRecord::PeakRecord(std::optional<std::uint64_t> expected) : wanted_(expected && *expected <= most_messages) {
    if (!wanted_) return;
    posts_.reserve(*expected);
    completions_.reserve(*expected);
}

double PeakRecord::slope(const Mark& from, const Mark& to) {
    return static_cast<double>(to.time - from.time) / static_cast<double>(to.count - from.count);
}

/// The least slope of a line from a posting to a completion behind it, of time over messages. For any completion the
/// best posting is on the upper hull of those before it, along which the slope first falls and then rises.
std::optional<double> PeakRecord::nanoseconds() const {
    std::optional<double> best;
    std::vector<Mark> hull;
    auto post = posts_.begin();
    for (const auto& completion : completions_) {
        for (; post != posts_.end() && post->count < completion.count; ++post) {
            while (hull.size() > 1 && slope(hull.back(), *post) >= slope(hull[hull.size() - 2], hull.back()))
                hull.pop_back();
            hull.push_back(*post);
        }
        if (hull.empty()) continue;
        std::size_t low = 0, high = hull.size() - 1;
        while (low < high) {
            const auto middle = (low + high) / 2;
            if (slope(hull[middle + 1], completion) < slope(hull[middle], completion))
                low = middle + 1;
            else
                high = middle;
        }
        if (const auto each = slope(hull[low], completion); each > 0) best = std::min(best.value_or(each), each);
    }
    return best;
}

double BandwidthFigures::messages_per_second() const {
    return elapsed > 0 ? static_cast<double>(messages) * second / static_cast<double>(elapsed) : 0;
}

double BandwidthFigures::peak_messages_per_second() const {
    const auto each = peak_nanoseconds.value_or(0);
    return each > 0 ? second / each : 0;
}

LatencyFigures latency_figures(std::span<Time> times, unsigned ways) {
    constexpr std::size_t left_out = 2;
    if (times.empty()) return {};
    std::ranges::sort(times);
    if (times.size() > left_out) times = times.first(times.size() - left_out);
    const auto count = times.size();
    const auto microseconds = [&](double time) { return time / (static_cast<double>(microsecond) * ways); };
    const auto at_share = [&](double share) {
        const auto index = static_cast<std::size_t>(std::ceil(static_cast<double>(count) * share));
        return microseconds(static_cast<double>(times[std::min(index, count - 1)]));
    };
    const auto middle = static_cast<double>(times[(count - 1) / 2] + times[count / 2]) / 2;
    const auto average = std::accumulate(times.begin(), times.end(), 0.) / static_cast<double>(count);
    double squares = 0;
    for (const auto time : times) squares += std::pow(static_cast<double>(time) - average, 2);
    return {.least = microseconds(static_cast<double>(times.front())),
            .most = microseconds(static_cast<double>(times.back())),
            .typical = microseconds(middle),
            .average = microseconds(average),
            .deviation = microseconds(std::sqrt(squares / static_cast<double>(count))),
            .percentile_99 = at_share(0.99),
            .percentile_99_9 = at_share(0.999)};
}

}  // namespace verbline::rdma_bench
