// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Detects a shard that stalls: its thread is stopped, or another one has its CPU. Nothing else waits for it, so
/// only the hosts whose packets it routes would be affected.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "pmd/base/counter.h"
#include "pmd/base/time.h"

namespace verbline::pmd {

class StallWatch {
public:
    /// Many times the longest sleep of an idle shard.
    static constexpr Time limit = second;

    enum class Change : std::uint8_t { none, stands_still, goes_on };

    /// Call several times in each `limit`, from the moment when the shard's thread was started. `polls`: the number
    /// that it has made so far.
    Change look(std::uint64_t polls, Time now);

    /// The same; returns a line about the change, if there is one. `shard`: how it is called.
    std::optional<std::string> report(std::string_view shard, std::uint64_t polls, Time now);

    /// How long it has not polled, if that is too long.
    std::optional<Time> standing() const { return stands_ ? std::optional(last_look_ - since_) : std::nullopt; }
    /// How long it had not polled, when it went on last.
    Time stood() const { return stood_; }

    Counter stalls;  ///< times that it stood still
    static constexpr auto stalls_help = "times that the shard did not poll for a second";

private:
    std::uint64_t polls_ = 0;
    Time since_ = 0;  ///< when there was no other poll yet
    Time last_look_ = 0, stood_ = 0;
    bool looked_ = false, stands_ = false;
};

}  // namespace verbline::pmd
