// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/traffic/throughput_search.h"

#include <algorithm>

namespace verbline::traffic {
namespace {

/// Of the highest rate: below it nothing is searched.
constexpr double least_part = 1e-5;

}  // namespace

std::optional<double> ThroughputSearch::next() const {
    if (ended_ || above_ <= settings_.max_rate * least_part) return std::nullopt;
    if (trials_ == 0) return settings_.max_rate;
    if (above_ - below_ <= settings_.resolution * above_) return std::nullopt;
    return (below_ + above_) / 2;
}

void ThroughputSearch::report(const Trial& trial) {
    const auto asked = next();
    if (!asked) return;
    ++trials_;
    if (trial.loss() > settings_.accepted_loss) {
        above_ = *asked;
        undelivered_ = 0;
        return;
    }
    const auto passed = std::min(trial.offered, *asked);
    throughput_ = std::max(throughput_, passed);
    if (trial.offered >= settings_.delivered * *asked) {
        below_ = *asked;
        undelivered_ = 0;
        ended_ = *asked == settings_.max_rate;
        return;
    }
    below_ = std::max(below_, passed);
    if (++undelivered_ >= settings_.repetitions) {
        above_ = *asked;
        undelivered_ = 0;
        generator_limited_ = true;
    }
}

std::optional<double> LossSeries::next() const {
    if (step_ == steps || without_loss_ == 2) return std::nullopt;
    return max_rate_ * static_cast<double>(steps - step_) / steps;
}

void LossSeries::report(const Trial& trial) {
    ++step_;
    without_loss_ = trial.lost() == 0 ? without_loss_ + 1 : 0;
}

std::optional<std::uint64_t> BurstSearch::next() const {
    if (above_ - below_ <= 1) return std::nullopt;
    return above_ > first_ ? first_ : (below_ + above_) / 2;
}

void BurstSearch::report(const Trial& trial) {
    const auto asked = next();
    if (!asked) return;
    (trial.lost() == 0 ? below_ : above_) = *asked;
}

}  // namespace verbline::traffic
