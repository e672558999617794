// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Session::step, which is a template. Included by session.h.

#include <utility>

#include "control/cm/session.h"
#include "control/cm/turn.h"

namespace verbline::cm {

template <class Kind, class Act>
Result<void> Session::step(Time now, Act&& act) {
    std::unique_lock lock(mutex_);
    auto* const machine = std::get_if<Kind>(&machine_);
    if (machine == nullptr) return failure(EINVAL, "an endpoint of this kind cannot do that");
    Turn turn(core_, id_);
    auto result = std::forward<Act>(act)(*machine, turn);
    settle(turn, now);
    lock.unlock();
    turn.carry_out(now);
    return result;
}

}  // namespace verbline::cm
