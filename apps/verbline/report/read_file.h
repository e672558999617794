// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// From a file to what was measured. What a file is, its keys tell.

#include <string>
#include <string_view>
#include <vector>

#include "apps/verbline/report/measurement.h"
#include "pmd/base/error.h"

namespace verbline::report {

/// One, but of `bench packet --profile`, which has one for each run. Errors are "FILE: reason; what to do".
Result<std::vector<Measurement>> read_file(const std::string& file);

/// The same of a file's contents.
Result<std::vector<Measurement>> read_text(const std::string& file, std::string_view text);

Result<Measurement> read_packet(const std::string& file, const Json& document);
Result<Measurement> read_rdma(const std::string& file, const Json& document);
Result<Measurement> read_ipoib(const std::string& file, const Json& document);
Result<Measurement> read_comparison(const std::string& file, const Json& document);
/// `runs` is an array of the file's lines.
Result<Measurement> read_history(const std::string& file, const Json& runs);

/// Of a file that names its kind, and lacks what that kind must have.
std::unexpected<Error> incomplete(const std::string& file, std::string_view problem, std::string_view writer);

}  // namespace verbline::report
