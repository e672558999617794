// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What the files say of the machines on which they were written.

#include <vector>

#include "apps/verbline/report/measurement.h"

namespace verbline::report {

/// One for each machine, in the order of the files; files with equal records share one.
std::vector<Record> records(const std::vector<Measurement>& measurements);

}  // namespace verbline::report
