// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What is put into each page, as `embed.py` wrote it into the program when it was built.

#include <string_view>

namespace verbline::report {

struct Assets {
    std::string_view library;  ///< D3; empty: it was not there
    std::string_view script;   ///< ours, that draws
    std::string_view style;
    std::string_view licence;                                ///< of the library
    std::string_view library_hash, script_hash, style_hash;  ///< for the Content-Security-Policy: "sha256-..."
};

Assets assets();

}  // namespace verbline::report
