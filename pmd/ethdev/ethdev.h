// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A device over any DPDK ethdev port.
///
/// The port runs from `create` to destruction; `up` and `down` open and close it for bursts, so that they may be called
/// while bursts are running. It starts promiscuous. `set_identity` and `attach_multicast` restrict reception if the
/// driver can filter; otherwise they return an error, and all frames are still received.

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <rte_ether.h>

#include "pmd/ethdev/offloads.h"
#include "pmd/ethdev/port.h"
#include "pmd/netdev.h"
#include "pmd/packet_pools.h"

struct rte_eth_dev_info;

namespace verbline::pmd {

struct EthDeviceOptions {
    // Fewer if the device has fewer, and as many of both if as many are asked for; one of each if it would not receive
    // a flow by one queue: drivers may pair the queues of both directions, and receive on those that no thread reads.
    std::uint16_t rx_queues = 1;
    std::uint16_t tx_queues = 1;
    std::uint16_t descriptors = 1024;  ///< in each queue; adjusted to the device's limits
    std::uint16_t mtu = 1500;          ///< bytes behind the Ethernet header
    OffloadChoice offloads = {};       ///< few drivers use their fastest code with any
    /// Only what rules of the device name is received (rte_flow_isolate): a driver that shares the device with the
    /// kernel leaves the rest to that. EINVAL: the driver cannot.
    bool isolated = false;
};

#define VERBLINE_ETHDEV_COUNTERS(X)                                           \
    X(tx_dropped_offload, "packets whose offload request the driver refused") \
    X(tx_dropped_link_down, "packets while the link or the device was down")

struct EthDeviceCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_ETHDEV_COUNTERS)
};

class EthDevice : public NetDevice {
public:
    /// `devargs` as for Port::plug. Received packets are allocated from `pools`, whose buffers are of one size, and
    /// which must outlive the device.
    static Result<std::unique_ptr<EthDevice>> create(const std::string& devargs, const PacketPools& pools,
                                                     const EthDeviceOptions& options);

    std::string_view name() const override { return port_.name(); }
    const Capabilities& capabilities() const override { return capabilities_; }
    std::optional<wire::MacAddress> mac() const override;
    int numa_socket() const override { return numa_socket_; }
    std::optional<RssTable> rss() const override;
    Result<void> up() override;
    void down() override;
    bool link_up() override;
    std::uint16_t rx_burst(std::uint16_t queue, Burst burst) noexcept override;
    std::uint16_t tx_burst(std::uint16_t queue, Burst burst) noexcept override;
    std::error_code set_identity(const Identity& identity) override;
    std::error_code attach_multicast(const MulticastAddress& group) override;
    std::error_code detach_multicast(const MulticastAddress& group) override;
    std::error_code receive_all_multicast(bool all) override;
    /// The driver's (xstats), then this device's own.
    void counters(const CounterVisitor& visit) const override;

private:
    struct alignas(64) Lane {
        EthDeviceCounters counters;
    };

    explicit EthDevice(EthdevPort port) : port_(std::move(port)) {}
    Result<void> configure(const PacketPools& pools, const EthDeviceOptions& options);
    Result<void> choose_offloads(const rte_eth_dev_info& info, const OffloadChoice& choice);
    Result<void> isolate();
    Result<void> set_up_queues(const PacketPools& pools, std::uint16_t descriptors);
    std::uint16_t prepare_and_send(std::uint16_t queue, Burst burst) noexcept;
    std::error_code filter();

    EthdevPort port_;
    Capabilities capabilities_;
    int numa_socket_ = any_numa_socket;
    bool sends_between_bursts_ = false;  ///< packets of the driver's own
    std::uint64_t rss_types_ = 0;        ///< RTE_ETH_RSS_*
    bool must_prepare_ = false;          ///< some offload request may need the driver's tx_prepare
    std::atomic<bool> is_up_{false};
    std::atomic<bool> link_{true};  ///< as last polled
    bool has_identity_ = false;     ///< the driver filters by address
    bool all_multicast_ = false;    ///< and not by group
    std::vector<rte_ether_addr> groups_;
    std::vector<Lane> lanes_;  ///< by TX queue
};

}  // namespace verbline::pmd
