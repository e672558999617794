// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A ClockConversion that one thread renews while poll threads use it: a sequence lock. Readers wait for nobody: while
/// it is being written they keep the one that they have.

#include <atomic>
#include <bit>
#include <cstdint>
#include <optional>

#include "datapath/traffic/clock_calibration.h"

namespace verbline::traffic {

class SharedConversion {
public:
    /// By one thread. nullopt: frames cannot be dated for now.
    void set(const std::optional<ClockConversion>& conversion) noexcept {
        version_.fetch_add(1);
        known_ = conversion.has_value();
        const auto value = conversion.value_or(ClockConversion{});
        ticks_ = value.ticks, cycles_ = value.cycles;
        cycles_per_tick_ = std::bit_cast<std::uint64_t>(value.cycles_per_tick);
        version_.fetch_add(1);
    }

    /// Any thread: replaces what it got the last time, unless a new one is just being written.
    void get(std::optional<ClockConversion>& into) const noexcept {
        const auto version = version_.load();
        const bool known = known_;
        const ClockConversion value{
            .ticks = ticks_, .cycles = cycles_, .cycles_per_tick = std::bit_cast<double>(cycles_per_tick_.load())};
        if (version % 2 != 0 || version_.load() != version) return;
        into = known ? std::optional(value) : std::nullopt;
    }

private:
    std::atomic<std::uint64_t> version_{0}, ticks_{0}, cycles_{0}, cycles_per_tick_{0};
    std::atomic<bool> known_{false};
};

}  // namespace verbline::traffic
