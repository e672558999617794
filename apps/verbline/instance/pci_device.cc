// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/instance/pci_device.h"

namespace verbline::cli {

std::optional<std::string> pci_device(const pmd::DeviceSpec& spec) {
    const auto* dpdk = std::get_if<pmd::DpdkSpec>(&spec);
    if (dpdk == nullptr || !pmd::pci_address(*dpdk)) return std::nullopt;
    return dpdk->devargs;
}

}  // namespace verbline::cli
