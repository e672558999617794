// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/neighbour/router_advertiser.h"

#include <algorithm>

namespace verbline::neighbour {

Time RouterAdvertiser::between(Time least, Time most) {
    return std::uniform_int_distribution<Time>(least, most)(random_);
}

/// Not before MIN_DELAY_BETWEEN_RAS after the last.
Time RouterAdvertiser::allowed(Time wanted) const {
    return last_ ? std::max(wanted, *last_ + timing_.min_delay_between) : wanted;
}

void RouterAdvertiser::start(Time now) {
    initial_ = timing_.initial;
    due_ = allowed(now);
}

/// RFC 4861, 6.2.6: one advertisement answers all that come before it.
void RouterAdvertiser::solicited(Time now) {
    if (!due_) return;
    const auto delay = between(0, timing_.max_delay);
    const bool limited = last_ && now < *last_ + timing_.min_delay_between;
    const auto answer = limited ? *last_ + timing_.min_delay_between + delay : now + delay;
    due_ = std::min(*due_, answer);
}

bool RouterAdvertiser::due(Time now) {
    if (!due_ || now < *due_) return false;
    last_ = now;
    if (initial_ > 0) --initial_;
    const auto interval = between(timing_.min_interval, timing_.max_interval);
    due_ = now + (initial_ > 0 ? std::min(interval, timing_.max_initial_interval) : interval);
    return true;
}

}  // namespace verbline::neighbour
