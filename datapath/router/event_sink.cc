// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/router/event_sink.h"

#include <cstdint>
#include <utility>

#include <unistd.h>

namespace verbline::router {

bool EventSink::emit(const Event& event) noexcept {
    if (!ring_.push(event)) {
        lost.add();
        return false;
    }
    pending_ = true;
    return true;
}

void EventSink::wake_control() noexcept {
    if (!std::exchange(pending_, false)) return;
    const std::uint64_t one = 1;
    // An eventfd refuses a write only when it already holds 2^64 - 2 wake-ups: the control thread is awake.
    [[maybe_unused]] const auto written = ::write(wake_, &one, sizeof one);
}

}  // namespace verbline::router
