// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/shard/stall_watch.h"

#include <utility>

#include <fmt/format.h>

namespace verbline::pmd {

StallWatch::Change StallWatch::look(std::uint64_t polls, Time now) {
    const bool first = !std::exchange(looked_, true);
    const auto between = now - std::exchange(last_look_, now);
    if (first || polls != std::exchange(polls_, polls)) {
        polls_ = polls;
        stood_ = now - std::exchange(since_, now);
        return std::exchange(stands_, false) ? Change::goes_on : Change::none;
    }
    // Whoever looks so late has stood still as well, as when the whole process is stopped: the shard gets its chance.
    if (between > limit / 2 && !stands_) since_ = now;
    if (stands_ || now - since_ < limit) return Change::none;
    stands_ = true;
    stalls.add();
    return Change::stands_still;
}

std::optional<std::string> StallWatch::report(std::string_view shard, std::uint64_t polls, Time now) {
    const auto seconds = [](Time time) { return static_cast<double>(time) / second; };
    switch (look(polls, now)) {
        case Change::none: break;
        case Change::stands_still:
            return fmt::format("{} has not polled for {:.1f} s: its packets wait, or are lost", shard,
                               seconds(*standing()));
        case Change::goes_on: return fmt::format("{} polls again, after {:.1f} s", shard, seconds(stood()));
    }
    return std::nullopt;
}

}  // namespace verbline::pmd
