// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Opens a transport by its specification:
///
///     ibsim:FABRIC,host=NODE     a port of a simulated fabric; FABRIC is the simulator's IBSIM_SOCKNAME
///     umad:DEVICE,port=N         a port of an RDMA adapter; default: port 1

#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "control/loop/loop.h"
#include "control/mad/transport.h"

namespace verbline::mad {

struct IbsimSpec {
    std::string fabric, host;
    bool operator==(const IbsimSpec&) const = default;
};
struct UmadSpec {
    std::string device;
    int port = 1;
    bool operator==(const UmadSpec&) const = default;
};
using Spec = std::variant<IbsimSpec, UmadSpec>;

Result<Spec> parse_spec(std::string_view text);

/// Parses `spec` and opens the transport. Errors are one line and name the faulty part of the specification.
Result<std::unique_ptr<Transport>> open(std::string_view spec, control::Loop& loop);

}  // namespace verbline::mad
