// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The states of a UD queue pair, each with what it takes to reach it (IBTA volume 1, 10.3.1 and 11.2.5.2).
///
///     RESET ── initialize ──> INIT ── receive ──> RTR ── send ──> RTS

#include <cstdint>

#include "datapath/wire/types.h"
#include "pmd/base/error.h"
#include "pmd/hca/verbs.h"

namespace verbline::pmd::hca {

/// What queue pairs of a port have in common while they run.
struct Membership {
    std::uint8_t port = 1;
    std::uint16_t pkey_index = 0;
    wire::QKey qkey{};
    /// All of it is as the kernel's interface has it whose number is shared, and only states are set here.
    bool of_kernel = false;
};

Result<void> to_initialize(const Verbs& verbs, ibv_qp& queue_pair, const Membership& membership);
Result<void> to_receive(const Verbs& verbs, ibv_qp& queue_pair);
Result<void> to_send(const Verbs& verbs, ibv_qp& queue_pair, const Membership& membership);
/// The device takes back what it holds. Completions that it had written before remain.
void reset(const Verbs& verbs, ibv_qp& queue_pair);

}  // namespace verbline::pmd::hca
