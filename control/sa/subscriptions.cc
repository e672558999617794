// SPDX-License-Identifier: BSD-3-Clause
#include "control/sa/subscriptions.h"

#include <algorithm>

namespace verbline::sa {

namespace {
constexpr Time first_retry = 500 * millisecond, last_retry = 16 * second;
}

void Subscriptions::renew() {
    ++round_;
    held_ = 0;
    for (std::size_t i = 0; i < traps.size(); ++i) {
        retries_[i].cancel();
        back_off_[i] = first_retry;
        ask(i);
    }
}

void Subscriptions::ask(std::size_t index) {
    client_.subscribe(
        static_cast<std::uint16_t>(traps[index]), true,
        [this, index, round = round_](const Answer<wire::InformInfo>& answer) {
            if (round != round_) return;
            if (answer) {
                ++held_;
                return;
            }
            retries_[index] = loop_.after(back_off_[index], [this, index] { ask(index); });
            back_off_[index] = std::min(back_off_[index] * 2, last_retry);
        },
        Client::once(first_retry));
}

}  // namespace verbline::sa
