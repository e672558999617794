// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/report/assets.h"

#include <cstddef>

namespace verbline::report {
namespace {

// Written by embed.py: arrays of bytes, and hashes.
#include <assets.inc>

/// Without the zero at its end.
template <std::size_t size>
std::string_view text(const unsigned char (&bytes)[size]) {
    return {reinterpret_cast<const char*>(bytes), size - 1};
}

}  // namespace

Assets assets() {
    return {.library = text(library),
            .script = text(script),
            .style = text(style),
            .licence = text(licence),
            .library_hash = library_hash,
            .script_hash = script_hash,
            .style_hash = style_hash};
}

}  // namespace verbline::report
