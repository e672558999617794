// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A port as DPDK's ethdev calls it. For driver.cc alone: the headers of drivers are in here.

#include <memory>
#include <vector>

#include <ethdev_driver.h>

#include "apps/net_ipoib/port.h"
#include "apps/net_ipoib/statistics.h"

namespace verbline::net_ipoib {

struct ReceiveQueue {
    ReceiveEnd* end = nullptr;  ///< while the port runs
    rte_mempool* pool = nullptr;
};
struct TransmitQueue {
    TransmitEnd* end = nullptr;
};

/// What rte_eth_dev_data::dev_private points to.
struct EthdevPort {
    std::unique_ptr<Port> port;
    Statistics statistics;
    std::vector<std::unique_ptr<ReceiveQueue>> receive;
    std::vector<std::unique_ptr<TransmitQueue>> transmit;
    rte_ether_addr mac{};
    bool started = false;
};

/// The driver's messages, of a port.
void log_line(std::uint32_t level, const char* port, const std::string& line);

/// Sets the operations, and the functions for bursts.
void set_operations(rte_eth_dev& dev);

}  // namespace verbline::net_ipoib
