// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/timer/wheel.h"

namespace verbline::timer {

std::optional<Time> Wheel::next_deadline() noexcept {
    next_ = due_.empty() ? earliest() : position_;
    if (next_ == never) return std::nullopt;
    return next_ << tick_shift;
}

/// Brings what is due by `until` into `due_`, earlier ticks first. A jump of hours visits occupied slots only.
void Wheel::collect(Tick until) noexcept {
    for (next_ = earliest(); next_ <= until; next_ = earliest()) {
        position_ = next_;
        // From the top, for what leaves one level may have to go on to the next below at the same tick.
        for (unsigned level = levels - 1; level > 0; --level) {
            const bool slot_begins = position_ >> slot_bits * level << slot_bits * level == position_;
            if (slot_begins) move_down(level);
        }
        due_.take(levels_[0].slot[index(position_, 0)]);
    }
    position_ = std::max(position_, until);
}

void Wheel::move_down(unsigned level) noexcept {
    TimerList moving;
    moving.take(levels_[level].slot[index(position_, level)]);
    while (auto* const timer = moving.pop_front()) place(*timer);
}

Wheel::Tick Wheel::earliest() noexcept {
    Tick first = never;
    for (unsigned level = 0; level < levels; ++level) first = std::min(first, earliest(level));
    return first;
}

/// When the next occupied slot of a level begins. The slot we are in is empty, or holds what is a whole turn ahead.
Wheel::Tick Wheel::earliest(unsigned level) noexcept {
    auto& [slot, occupied] = levels_[level];
    const auto here = index(position_, level);
    for (std::size_t distance = 1; distance <= slots;) {
        const auto i = (here + distance) % slots;
        const auto ahead = occupied[i / 64] >> i % 64;
        if (ahead == 0) {
            distance += 64 - i % 64;
            continue;
        }
        distance += static_cast<std::size_t>(std::countr_zero(ahead));
        const auto found = (here + distance) % slots;
        if (!slot[found].empty()) {
            return ((position_ >> slot_bits * level) + static_cast<Tick>(distance)) << slot_bits * level;
        }
        occupied[found / 64] &= ~(std::uint64_t{1} << found % 64);
    }
    return never;
}

}  // namespace verbline::timer
