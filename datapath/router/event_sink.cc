// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/router/event_sink.h"

#include <utility>
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

void EventSink::wake_control() noexcept {
    if (std::exchange(pending_, false) && wake_ != nullptr) wake_->signal();
}

}  // namespace verbline::router
