// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What is known of the calling process and by it, and not from files: limits, and the preflight of `verbline run`.

#include <span>
#include <vector>

#include "apps/verbline/doctor/facts.h"

namespace verbline::doctor {

LockLimit lock_limit();

/// What `verbline run` would refuse before it starts a program: links on the Ethernet interfaces of these ports, a tap,
/// the library. Links that would start a hub to be checked are left out, since nothing may change here.
std::vector<PreflightError> preflight(std::span<const Port> ports);

}  // namespace verbline::doctor
