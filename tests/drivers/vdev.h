// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What virtual drivers for tests have in common: a port comes with `--vdev`, and goes with it.

#include <cerrno>
#include <memory>

#include <bus_vdev_driver.h>
#include <ethdev_driver.h>
#include <ethdev_vdev.h>

namespace verbline::test {

/// A port of DPDK with that state, which has a `mac`; a negative errno. `operations` outlive it; dev_close frees it.
template <class Port>
int add_port(rte_vdev_device* device, std::unique_ptr<Port> port, const eth_dev_ops& operations, eth_rx_burst_t receive,
             eth_tx_burst_t transmit) {
    auto* const dev = rte_eth_vdev_allocate(device, sizeof(Port*));
    if (dev == nullptr) return -ENOMEM;
    dev->data->mac_addrs = &port->mac;
    *static_cast<Port**>(dev->data->dev_private) = port.release();
    dev->dev_ops = &operations;
    dev->rx_pkt_burst = receive;
    dev->tx_pkt_burst = transmit;
    rte_eth_dev_probing_finish(dev);
    return 0;
}

inline int remove_port(rte_vdev_device* device) {
    auto* const dev = rte_eth_dev_allocated(rte_vdev_device_name(device));
    if (dev == nullptr) return 0;  // closed by the program
    if (dev->dev_ops->dev_close != nullptr) dev->dev_ops->dev_close(dev);
    return rte_eth_dev_release_port(dev);
}

constexpr rte_vdev_driver vdev_driver(int (*probe)(rte_vdev_device*)) {
    return {.next = {},
            .driver = {},
            .probe = probe,
            .remove = remove_port,
            .dma_map = nullptr,
            .dma_unmap = nullptr,
            .drv_flags = 0};
}

}  // namespace verbline::test
