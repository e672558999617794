// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What a program registers an agent for: requests of a management class that it wants to receive, and RMPP.

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>

#include <rdma/ib_user_mad.h>

#include "datapath/wire/mad.h"
#include "pmd/base/error.h"

namespace verbline::verbs {

struct Registration {
    std::uint8_t qpn = 1;  ///< 0: subnet management; 1: general services
    /// None: the agent receives no requests.
    std::optional<wire::MadClass> management_class{};
    std::uint8_t class_version = 0;
    std::bitset<128> methods{};  ///< of the requests
    std::uint32_t oui = 0;       ///< of a vendor's class
    std::uint8_t rmpp_version = 0;
    bool user_rmpp = false;  ///< the program makes and takes RMPP's segments itself

    /// RMPP messages are cut and assembled here.
    bool kernel_rmpp() const { return rmpp_version != 0 && !user_rmpp; }
    bool operator==(const Registration&) const = default;
};

/// IB_USER_MAD_REGISTER_AGENT. EINVAL: another queue pair than QP0 and QP1, or a class, version or use of RMPP that
/// does not exist or is not the queue pair's.
Result<Registration> registration_of(const ib_user_mad_reg_req& request);
/// IB_USER_MAD_REGISTER_AGENT2. The same; EINVAL also for unknown flags and an OUI of more than 24 bits.
Result<Registration> registration_of(const ib_user_mad_reg_req2& request);

}  // namespace verbline::verbs
