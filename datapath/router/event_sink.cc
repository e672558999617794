// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/router/event_sink.h"

#include <variant>

namespace verbline::router {

bool EventSink::emit(const Event& event) noexcept {
    const bool packet = std::holds_alternative<Punted>(event);
    if (!ring_.push(event)) {
        lost.add();
        if (packet) dropped.add();
        return false;
    }
    if (packet) punted.add();
    pending_ = true;
    return true;
}

void EventSink::wake_control(bool busy, Time now) noexcept {
    if (!pending_ || wake_ == nullptr) return;
    if (busy && !wakes_.take(now) && !ring_.quarter_full()) return;
    pending_ = false;
    wake_->signal();
}

}  // namespace verbline::router
