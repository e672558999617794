// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Findings as text and as rows of JSON.

#include <string>

#include "apps/verbline/doctor/finding.h"
#include "apps/verbline/output/table.h"

namespace verbline::doctor {

/// A line for each finding, with its command below it on a line of its own, to be copied whole. Control characters,
/// which a recorded tree may have anywhere, are printed as '?'.
std::string render_text(const Findings& findings);

/// An array of objects: severity, subject, found, command.
cli::Json rows(const Findings& findings);

/// "1 error, 2 warnings"; empty: nothing is worse than a note.
std::string complaint(const Findings& findings);

}  // namespace verbline::doctor
