// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The method of the answer to a request: for tests that answer as the SA does.

#include <cstdint>

#include "datapath/wire/mad.h"

namespace verbline::test {

constexpr wire::MadMethod response_to(wire::MadMethod method) {
    // SET is answered by GetResp, as GET is; there is no 0x82 (13.4.5).
    if (method == wire::MadMethod::set) return wire::MadMethod::get_response;
    return wire::MadMethod{static_cast<std::uint8_t>(static_cast<std::uint8_t>(method) | 0x80)};
}

}  // namespace verbline::test
