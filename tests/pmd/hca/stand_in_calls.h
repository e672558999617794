// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What the stand-in library (stand_in.cc) and its script (fake_adapters.h) agree on: the calls that one forwards to
/// the other.
///
/// The library lives in a link-map namespace of its own, with its own C library; it finds the table by an address in
/// its environment. Both are in one process, so pointers, and functions behind them, are good on either side.

#include "pmd/hca/verbs.h"

namespace verbline::test {

constexpr auto stand_in_variable = "VERBLINE_HCA_STAND_IN";

struct StandInCalls {
#define VERBLINE_STAND_IN_POINTER(name) decltype(&::ibv_##name) name = nullptr;
    VERBLINE_HCA_CALLS(VERBLINE_STAND_IN_POINTER)
#undef VERBLINE_STAND_IN_POINTER
    decltype(&::_ibv_query_gid_ex) query_gid_ex = nullptr;
    int error = 0;  ///< errno after each call
};

}  // namespace verbline::test
