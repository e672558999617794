// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/ipoib/results.h"

#include <algorithm>

#include "apps/verbline/bench/figures.h"

namespace verbline::ipoib_bench {

void Series::add(const Slice& slice) {
    send.push_back(slice.send_cycles), receive.push_back(slice.receive_cycles);
    send_worker = slice.send, receive_worker = slice.receive;
    counts += slice.counts;
}

Results::Results(const IpoibPlan& plan) {
    for (const auto& what : plan.cases)
        for (const auto link : plan.links) series_.push_back({.link = link, .what = what});
}

void Results::keep_whole_rounds() {
    const auto whole = std::ranges::min(series_, {}, [](const Series& one) { return one.send.size(); }).send.size();
    for (auto& one : series_) one.send.resize(whole), one.receive.resize(whole);
}

std::vector<double> Results::ratios(const Series& ipoib, Direction direction) const {
    std::vector<double> ratios;
    if (!ipoib.link) return ratios;
    const auto ethernet =
        std::ranges::find_if(series_, [&](const Series& one) { return !one.link && one.what == ipoib.what; });
    for (std::size_t i = 0; i < ipoib.cycles(direction).size(); ++i)
        ratios.push_back(ethernet->cycles(direction)[i] / ipoib.cycles(direction)[i]);
    return ratios;
}

double Results::ratio(LinkKind carrier) const {
    std::vector<double> medians;
    for (const auto& one : series_) {
        if (!one.link || (carrier && one.link != carrier)) continue;
        for (const auto direction : {Direction::send, Direction::receive})
            medians.push_back(bench::median(ratios(one, direction)));
    }
    return bench::geometric_mean(medians);
}

Counts Results::counts() const {
    Counts sum;
    for (const auto& one : series_) sum += one.counts;
    return sum;
}

}  // namespace verbline::ipoib_bench
