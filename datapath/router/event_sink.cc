// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/router/event_sink.h"

#include <utility>

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
    if (std::exchange(pending_, false) && wake_ != nullptr) wake_->signal();
}

}  // namespace verbline::router
