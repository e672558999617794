// SPDX-License-Identifier: BSD-3-Clause
#include "control/gateway/bond.h"

#include <array>

#include <dlfcn.h>
#include <rte_ethdev.h>

namespace verbline::gateway {
namespace {

constexpr int active_backup = 1;  ///< BONDING_MODE_ACTIVE_BACKUP (rte_eth_bond.h)

/// Of the library that a function is in. The driver is a plug-in of DPDK's, which may not be there: so nothing is
/// linked with it.
void* symbol_beside(const void* function, const char* name) {
    Dl_info library{};
    if (dladdr(function, &library) == 0) return nullptr;
    void* const handle = dlopen(library.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) return nullptr;
    void* const found = dlsym(handle, name);
    dlclose(handle);  // EAL's remains
    return found;
}

}  // namespace

std::optional<Bond> Bond::find(std::string_view device) {
    std::uint16_t port = 0;
    rte_eth_dev_info info{};
    if (rte_eth_dev_get_port_by_name(std::string(device).c_str(), &port) != 0) return std::nullopt;
    if (rte_eth_dev_info_get(port, &info) != 0 || std::string_view(info.driver_name) != "net_bonding")
        return std::nullopt;
    const auto* const receive = reinterpret_cast<const void*>(rte_eth_fp_ops[port].rx_pkt_burst);
    const auto mode = reinterpret_cast<Ask>(symbol_beside(receive, "rte_eth_bond_mode_get"));
    const auto primary = reinterpret_cast<Ask>(symbol_beside(receive, "rte_eth_bond_primary_get"));
    if (mode == nullptr || primary == nullptr || mode(port) != active_backup) return std::nullopt;
    return Bond(port, primary);
}

std::string Bond::active() const {
    std::array<char, RTE_ETH_NAME_MAX_LEN> name{};
    const int member = primary_(port_);
    if (member < 0 || rte_eth_dev_get_name_by_port(static_cast<std::uint16_t>(member), name.data()) != 0) return "";
    return name.data();
}

}  // namespace verbline::gateway
