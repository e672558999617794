// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Session::step, which is a template. Included by session.h.

#include <utility>

#include "control/cm/actions.h"
#include "control/cm/session.h"

namespace verbline::cm {

template <class Kind, class Act>
Result<void> Session::step(Time now, Act&& act) {
    std::unique_lock lock(mutex_);
    auto* const machine = std::get_if<Kind>(&machine_);
    if (machine == nullptr) return failure(EINVAL, "an endpoint of this kind cannot do that");
    Actions actions(core_, id_);
    auto result = std::forward<Act>(act)(*machine, actions);
    settle(actions, now);
    lock.unlock();
    actions.carry_out(now);
    return result;
}

}  // namespace verbline::cm
