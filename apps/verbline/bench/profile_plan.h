// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The plans of a profile's runs.

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "apps/verbline/bench/plan.h"
#include "apps/verbline/bench/profile.h"
#include "pmd/base/error.h"

namespace verbline::bench {

struct PlannedRun {
    std::string name;  ///< as the profile has it, or its number
    std::string size;  ///< of its frames, as typed
    PacketPlan plan;
};

/// The command's options, from words of a command line. EINVAL: the reason, which names the option.
using ReadWords = std::function<Result<PacketTexts>(const std::vector<std::string>& words)>;

/// What `given` on the command line wins over the profile, and a [[run]] over what is above it. All plans have the MTU
/// that the largest frame of any needs, and so can use the same ports.
Result<std::vector<PlannedRun>> plan_runs(const Profile& profile, std::span<const SetOption> given,
                                          const ReadWords& read);

}  // namespace verbline::bench
