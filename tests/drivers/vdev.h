// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What virtual drivers for tests have in common: a port comes with `--vdev`, and goes with it.

#include <cerrno>
#include <cstdint>
#include <memory>
#include <utility>

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

template <class Port>
Port& port_of(const rte_eth_dev* dev) {
    return **static_cast<Port**>(dev->data->dev_private);
}

/// Stops the port, releases its queues and frees it; once.
template <class Port>
int close_port(rte_eth_dev* dev) {
    auto** const held = static_cast<Port**>(dev->data->dev_private);
    if (held == nullptr || *held == nullptr) return 0;
    const auto& operations = *dev->dev_ops;
    operations.dev_stop(dev);
    if (operations.rx_queue_release != nullptr)
        for (std::uint16_t i = 0; i < dev->data->nb_rx_queues; ++i) operations.rx_queue_release(dev, i);
    if (operations.tx_queue_release != nullptr)
        for (std::uint16_t i = 0; i < dev->data->nb_tx_queues; ++i) operations.tx_queue_release(dev, i);
    delete std::exchange(*held, nullptr);
    dev->data->mac_addrs = nullptr;  // of the port
    return 0;
}

/// Of a port that is its only queue.
template <class Port>
int set_up_receive(rte_eth_dev* dev, std::uint16_t id, std::uint16_t, unsigned, const rte_eth_rxconf*, rte_mempool*) {
    dev->data->rx_queues[id] = &port_of<Port>(dev);
    return 0;
}
template <class Port>
int set_up_transmit(rte_eth_dev* dev, std::uint16_t id, std::uint16_t, unsigned, const rte_eth_txconf*) {
    dev->data->tx_queues[id] = &port_of<Port>(dev);
    return 0;
}

template <class Port>
int count(rte_eth_dev* dev, rte_eth_stats* stats) {
    const auto& port = port_of<Port>(dev);
    stats->opackets = port.sent, stats->ipackets = port.received;
    return 0;
}

inline int link_is_known(rte_eth_dev*, int) {
    return 0;
}

/// What most drivers do. A driver adds its own: dev_configure, dev_infos_get, dev_start, dev_stop.
template <class Port>
eth_dev_ops usual_operations() {
    eth_dev_ops operations{};
    operations.dev_close = close_port<Port>;
    operations.rx_queue_setup = set_up_receive<Port>;
    operations.tx_queue_setup = set_up_transmit<Port>;
    operations.link_update = link_is_known;
    operations.stats_get = count<Port>;
    return operations;
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
