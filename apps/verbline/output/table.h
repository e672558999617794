// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Tables as text, as CSV and as JSON.

#include <string>

#include <nlohmann/json.hpp>

namespace verbline::cli {

using Json = nlohmann::ordered_json;  ///< keeps the order of columns

/// An array of flat objects as aligned columns: one column per key, in the order in which keys first appear, headed by
/// the key in capitals; numbers to the right; columns that are empty in every row are left out. Control characters,
/// which may come from a peer, are printed as '?'. An array without rows has no header either.
std::string render_table(const Json& rows);

/// A flat object as "key  value" lines.
std::string render_object(const Json& object);

/// An array of flat objects as CSV: a line of keys, in the order in which they first appear, and one for each row.
std::string render_csv(const Json& rows);

/// The output of `--json`.
std::string render_json(const Json& value);

}  // namespace verbline::cli
