// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Status codes of subnet administration answers (IBTA volume 1, 13.4.7 and 15.4.2), and reasons why a request failed.

#include <cstdint>
#include <string>

#include "datapath/wire/sa.h"

namespace verbline::sa {

using wire::SaStatus;

/// Whether the status is temporary: retry the same request later.
constexpr bool passes(SaStatus status) {
    return status == SaStatus::busy || status == SaStatus::no_resources;
}

/// One line: the standard's name and the number.
std::string describe(SaStatus status);

/// Why a request failed.
struct Failure {
    enum class Reason : std::uint8_t {
        refused,     ///< the SA refused: see `status`
        timed_out,   ///< every retry went unanswered
        malformed,   ///< an answer came but cannot be read
        queue_full,  ///< too many requests wait for the SA already
        cancelled,   ///< the subnet manager changed, or the client is going away
    };
    Reason reason = Reason::refused;
    SaStatus status = SaStatus::ok;

    bool operator==(const Failure&) const = default;
};

/// One line of readable text.
std::string describe(const Failure& failure);

}  // namespace verbline::sa
