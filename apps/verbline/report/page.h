// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// From measurements to the page's model, and from there to HTML.

#include <string>
#include <string_view>
#include <vector>

#include "apps/verbline/report/assets.h"
#include "apps/verbline/report/measurement.h"

namespace verbline::report {

Page make_page(const std::vector<Measurement>& measurements, std::string title, std::string made_by);

/// A file that needs no other: the browser is told to load nothing, and to run these two scripts only, by their hashes.
std::string to_html(const Page& page, const Assets& assets);

/// JSON as it may stand in a script element: nothing in it can end the element, whatever the strings say.
std::string embedded_json(const Json& value);

/// Text as it may stand in an element.
std::string escaped(std::string_view text);

}  // namespace verbline::report
