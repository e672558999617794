// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/congestion/dcqcn.h"

#include <algorithm>
#include <cmath>

namespace verbline::congestion {

void Dcqcn::cnp(Time now) noexcept {
    const auto& p = *parameters_;
    advance(now);
    if (!limited_) {
        current_ = static_cast<double>(p.line_rate_bps);
        alpha_ = 1;
        cnp_at_ = now;
        limited_ = true;
    }
    const auto congested = alpha(now);
    target_ = current_;
    current_ = std::max(current_ * (1 - congested / 2), static_cast<double>(p.min_rate_bps));
    alpha_ = static_cast<float>((1 - p.gain) * congested + p.gain);
    cnp_at_ = now;
    increase_at_ = now + p.increase_interval;
    bytes_ = 0;
    time_rounds_ = byte_rounds_ = 0;
}

double Dcqcn::alpha(Time now) const noexcept {
    if (!limited_) return 1;
    const auto intervals = (now - cnp_at_) / parameters_->alpha_interval;
    return intervals <= 0 ? alpha_ : alpha_ * std::pow(1 - parameters_->gain, static_cast<double>(intervals));
}

void Dcqcn::count(std::uint32_t bytes, Time now) noexcept {
    advance(now);
    bytes_ += bytes;
    while (limited_ && bytes_ >= parameters_->increase_bytes) {
        bytes_ -= parameters_->increase_bytes;
        byte_rounds_ = static_cast<std::uint8_t>(std::min(byte_rounds_ + 1, 255));
        increase();
    }
}

void Dcqcn::run(Time now) noexcept {
    // Terminates: additive increase reaches the line rate after any elapsed time.
    for (; limited_ && increase_at_ <= now; increase_at_ += parameters_->increase_interval) {
        time_rounds_ = static_cast<std::uint8_t>(std::min(time_rounds_ + 1, 255));
        increase();
    }
}

void Dcqcn::increase() noexcept {
    const auto& p = *parameters_;
    const auto [fewer, more] = std::minmax(time_rounds_, byte_rounds_);
    if (fewer > p.fast_recovery_rounds) {
        target_ += static_cast<double>(p.hyper_bps);
    } else if (more >= p.fast_recovery_rounds) {
        target_ += static_cast<double>(p.additive_bps);
    }
    const auto line_rate = static_cast<double>(p.line_rate_bps);
    target_ = std::min(target_, line_rate);
    current_ = (current_ + target_) / 2;
    // Halving the distance never covers it: a rate within one additive step of line rate counts as line rate.
    if (target_ == line_rate && line_rate - current_ < static_cast<double>(p.additive_bps)) limited_ = false;
}

}  // namespace verbline::congestion
