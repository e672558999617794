// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/instance/pci_device.h"

#include <rte_pci.h>

namespace verbline::cli {

std::optional<std::string> pci_device(const pmd::DeviceSpec& spec) {
    const auto* dpdk = std::get_if<pmd::DpdkSpec>(&spec);
    if (dpdk == nullptr) return std::nullopt;
    rte_pci_addr address;
    const auto name = dpdk->devargs.substr(0, dpdk->devargs.find(','));
    if (rte_pci_addr_parse(name.c_str(), &address) != 0) return std::nullopt;
    return dpdk->devargs;
}

}  // namespace verbline::cli
