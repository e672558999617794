// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Views of headers in frames whose length has been checked.

#include <cassert>
#include <cstddef>

#include "datapath/wire/header.h"

namespace verbline::link {

/// The header at offset `at`; the caller has checked that the bytes hold it.
template <class Part>
wire::View<Part> part_at(wire::Bytes bytes, std::size_t at = 0) {
    const auto view = wire::View<Part>::over(bytes.subspan(at));
    assert(view);
    return *view;
}

template <class Part>
wire::View<Part, std::byte> writable_part_at(wire::MutableBytes bytes, std::size_t at = 0) {
    const auto view = wire::View<Part, std::byte>::over(bytes.subspan(at));
    assert(view);
    return *view;
}

}  // namespace verbline::link
