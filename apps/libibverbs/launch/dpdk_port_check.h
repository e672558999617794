// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Checks that the library inside a program can open a DPDK port: it has drivers of virtual ports and of common NICs,
/// not all of DPDK's.

#include <filesystem>
#include <optional>
#include <string>

#include "pmd/base/error.h"
#include "pmd/factory/device_spec.h"

namespace verbline::verbs {

/// All that is not the kernel interface's behind it. ENOTSUP: there is no driver here. ENODEV: there is no such device.
/// EBUSY: the kernel has it. The error does not name the port. `sysfs`: for tests.
Result<void> check_dpdk_port(const pmd::DpdkSpec& port, const std::filesystem::path& sysfs = "/sys");

/// The interface whose frames net_af_packet sends and receives; none: another driver.
std::optional<std::string> kernel_interface_of(const pmd::DpdkSpec& port);

}  // namespace verbline::verbs
