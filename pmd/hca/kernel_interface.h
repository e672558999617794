// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The kernel's IPoIB interface of a port, such as ib0, whose queue pair number a queue pair of ours may share: as /sys
/// describes it.

#include <cstdint>
#include <filesystem>
#include <string>

#include "datapath/wire/types.h"
#include "pmd/base/error.h"

namespace verbline::pmd::hca {

struct KernelInterface {
    wire::Qpn number{};
    unsigned index = 0;  ///< of the interface
    wire::PKey pkey{};
};

/// Error, in one line: there is no such interface, or it is not of that port.
Result<KernelInterface> read_kernel_interface(const std::string& name, const std::string& device, std::uint8_t port,
                                              const std::filesystem::path& sys);

}  // namespace verbline::pmd::hca
