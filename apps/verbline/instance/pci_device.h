// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

#include "pmd/factory/device_spec.h"

namespace verbline::cli {

/// The devargs of a device for which the PCI bus must be searched when the EAL starts; nothing for any other.
std::optional<std::string> pci_device(const pmd::DeviceSpec& spec);

}  // namespace verbline::cli
