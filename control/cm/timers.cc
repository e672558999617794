// SPDX-License-Identifier: BSD-3-Clause
#include "control/cm/timers.h"

#include <algorithm>

#include "control/cm/session.h"

namespace verbline::cm {

void Timers::arm(timer::Timer& timer, std::size_t part_number, Time deadline, Time now) {
    auto& part = parts_[part_number % part_count];
    const std::lock_guard lock(part.mutex);
    if (!part.wheel) part.wheel = std::make_unique<timer::Wheel>(now);
    part.wheel->arm(timer, deadline);
}

void Timers::cancel(timer::Timer& timer, std::size_t part_number) {
    auto& part = parts_[part_number % part_count];
    const std::lock_guard lock(part.mutex);
    timer.cancel();
}

std::vector<Reference<Session>> Timers::due(Time now) {
    std::vector<Reference<Session>> sessions;
    for (auto& part : parts_) {
        const std::lock_guard lock(part.mutex);
        if (!part.wheel) continue;
        part.wheel->advance(now, [&](timer::Timer& timer) {
            if (auto session = Reference<Session>::unless_gone(static_cast<Session&>(timer))) {
                sessions.push_back(std::move(session));
            }
        });
    }
    return sessions;
}

std::optional<Time> Timers::deadline() const {
    std::optional<Time> earliest;
    for (auto& part : parts_) {
        const std::lock_guard lock(part.mutex);
        const auto next = part.wheel ? part.wheel->next_deadline() : std::nullopt;
        if (next) earliest = std::min(earliest.value_or(*next), *next);
    }
    return earliest;
}

}  // namespace verbline::cm
