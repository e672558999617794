// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/ethdev/port.h"

#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>

#include <fmt/format.h>

namespace verbline::pmd {

Result<EthdevPort> EthdevPort::plug(const std::string& devargs) {
    const auto name = devargs.substr(0, devargs.find(','));
    std::uint16_t id = none;
    const bool present = rte_eth_dev_get_port_by_name(name.c_str(), &id) == 0;
    if (!present) {
        if (const int rc = rte_dev_probe(devargs.c_str()); rc != 0) {
            return failure(-rc,
                           fmt::format("cannot open device {}: {}; is it bound to a DPDK driver, or its virtual driver "
                                       "installed?",
                                       devargs, rte_strerror(-rc)));
        }
        if (rte_eth_dev_get_port_by_name(name.c_str(), &id) != 0) {
            return failure(ENODEV, fmt::format("device {} is no network device", devargs));
        }
    }
    return EthdevPort(id, !present, name);
}

int EthdevPort::start() {
    const int rc = rte_eth_dev_start(id_);
    started_ = rc == 0;
    return rc;
}

EthdevPort::~EthdevPort() {
    if (id_ == none) return;
    rte_eth_dev_info info{};
    const bool known = rte_eth_dev_info_get(id_, &info) == 0;
    if (started_) (void)rte_eth_dev_stop(id_);
    (void)rte_eth_dev_close(id_);
    if (plugged_ && known) (void)rte_dev_remove(info.device);
}

}  // namespace verbline::pmd
