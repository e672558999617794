// SPDX-License-Identifier: BSD-3-Clause
// The driver as DPDK knows it: devices of the virtual bus, `--vdev net_ipoib0,...`.

#include <cerrno>
#include <string>
#include <utility>

#include <bus_vdev_driver.h>
#include <ethdev_driver.h>
#include <ethdev_vdev.h>
#include <rte_log.h>

#include "apps/net_ipoib/ethdev_ops.h"

namespace verbline::net_ipoib {
namespace {

RTE_LOG_REGISTER(log_type, pmd.net.ipoib, NOTICE);

int fail(const char* name, const Error& error) {
    log_line(RTE_LOG_ERR, name, error.what);
    return -error.code;
}

int probe(rte_vdev_device* device) {
    const std::string name = rte_vdev_device_name(device);
    if (rte_eal_process_type() != RTE_PROC_PRIMARY)
        return fail(name.c_str(),
                    {ENOTSUP, "a secondary process cannot use the port: its control thread is the primary's"});
    const auto arguments = parse_arguments(rte_vdev_device_args(device));
    if (!arguments) return fail(name.c_str(), arguments.error());
    auto port =
        Port::open(*arguments, name, [name](const std::string& line) { log_line(RTE_LOG_NOTICE, name.c_str(), line); });
    if (!port) return fail(name.c_str(), port.error());

    auto* const dev = rte_eth_vdev_allocate(device, sizeof(EthdevPort*));
    if (dev == nullptr) return fail(name.c_str(), {ENOMEM, "DPDK has no room for another port"});
    auto made = std::make_unique<EthdevPort>();
    made->port = std::move(*port);
    std::memcpy(made->mac.addr_bytes, made->port->mac().bytes.data(), sizeof made->mac.addr_bytes);
    dev->data->mac_addrs = &made->mac;
    *static_cast<EthdevPort**>(dev->data->dev_private) = made.release();
    dev->data->dev_flags |= RTE_ETH_DEV_INTR_LSC;
    dev->data->promiscuous = 0;
    set_operations(*dev);
    rte_eth_dev_probing_finish(dev);
    return 0;
}

int remove(rte_vdev_device* device) {
    auto* const dev = rte_eth_dev_allocated(rte_vdev_device_name(device));
    if (dev == nullptr) return 0;  // closed by the program
    if (dev->dev_ops->dev_close != nullptr) dev->dev_ops->dev_close(dev);
    return rte_eth_dev_release_port(dev);
}

constinit rte_vdev_driver driver{.next = {},
                                 .driver = {},
                                 .probe = probe,
                                 .remove = remove,
                                 .dma_map = nullptr,
                                 .dma_unmap = nullptr,
                                 .drv_flags = 0};

}  // namespace

void log_line(std::uint32_t level, const char* port, const std::string& line) {
    rte_log(level, static_cast<std::uint32_t>(log_type), "net_ipoib: %s: %s\n", port, line.c_str());
}

RTE_PMD_REGISTER_VDEV(net_ipoib, driver);
RTE_PMD_REGISTER_PARAM_STRING(net_ipoib, VERBLINE_NET_IPOIB_PARAMETERS);

}  // namespace verbline::net_ipoib
