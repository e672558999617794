// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/router/event_sink.h"

#include <array>
#include <variant>

namespace verbline::router {
namespace {

/// By alternative of Event.
constexpr std::array emitted{pmd::TraceEvent::unresolved, pmd::TraceEvent::punted, pmd::TraceEvent::membership_heard,
                             pmd::TraceEvent::unknown_group};
static_assert(emitted.size() == std::variant_size_v<Event>);

}  // namespace

// NOLINTNEXTLINE(bugprone-exception-escape): std::visit throws for a variant without value, which is never made
bool EventSink::emit(const Event& event) noexcept {
    const auto port = std::visit([](const auto& e) { return static_cast<std::uint16_t>(e.port); }, event);
    const bool packet = std::holds_alternative<Punted>(event);
    if (!ring_.push(event)) {
        lost.add();
        trace_.record(pmd::TraceEvent::event_lost, port);
        if (packet) dropped.add();
        return false;
    }
    if (packet) punted.add();
    trace_.record(emitted[event.index()], port);
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
