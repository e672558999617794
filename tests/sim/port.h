// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A host's port on the simulated network, as the device that the host drives.
///
///     tx_burst ──> transmit ring ──(rate, delay, faults `out`)──> switch
///     rx_burst <── receive ring <──(rate, delay, faults `in`)─── queue of the switch, marked and bounded

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "pmd/netdev.h"
#include "tests/sim/link.h"
#include "tests/sim/marking.h"

namespace verbline::sim {

class Network;

/// Sizes are bytes of frames without preamble, FCS and gap.
struct PortSetup {
    std::string name = "port";
    std::optional<wire::MacAddress> mac = {};     ///< known to the switch from the start; others are learned
    std::uint64_t rate_bps = 0;                   ///< both ways; 0: infinite
    Time delay = 0;                               ///< of the cable to the switch, one way
    std::uint64_t transmit_limit = 128 * 1024;    ///< the host waits (`tx_burst` takes no more) while this much waits
    std::uint64_t queue_limit = 4 * 1024 * 1024;  ///< in the switch, towards this port; more is dropped
    Marking marking = {};                         ///< of that queue
    std::size_t receive_ring =
        std::numeric_limits<std::size_t>::max();  ///< packets the host has not read; more are lost
    std::optional<pmd::RssTable> rss = {};        ///< spread UDP over IPv4 over several queues; all else to queue 0
    std::uint32_t max_frame = 14 + 4 + 9000;      ///< longer ones are dropped, in either direction
    Faults out = {}, in = {};                     ///< from the host, to the host
};

#define VERBLINE_SIM_PORT_COUNTERS(X)                                                  \
    X(tx_copied, "packets copied because they are chains or shared")                   \
    X(tx_dropped_no_mbuf, "packets not sent because the network's pool is empty")      \
    X(tx_dropped_offload, "packets with an offload request: there is nobody to do it") \
    X(tx_dropped_oversize, "packets longer than the port takes")                       \
    X(tx_dropped_runt, "frames shorter than an Ethernet header")                       \
    X(tx_dropped_down, "packets sent while the port was down")                         \
    X(queue_dropped_oversize, "packets longer than the receiver's port takes")         \
    X(queue_dropped_full, "packets dropped at the limit of the switch's queue")        \
    X(queue_marked, "packets marked as having met congestion")                         \
    X(rx_dropped_overrun, "packets that found the receive ring full")                  \
    X(rx_dropped_down, "packets that came while the port was down")

struct PortCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_SIM_PORT_COUNTERS)
};

/// Made by the network, and lives as long. Up from the start.
class SimulatedPort : public pmd::NetDevice {
public:
    SimulatedPort(Network& network, std::uint32_t index, PortSetup setup, Seed seed);
    ~SimulatedPort() override;

    /// May be changed at any time, `mac` and `name` excepted; what is under way already keeps its time and fate.
    PortSetup& setup() { return setup_; }
    /// Packets that `rx_burst` would return.
    std::size_t waiting() const;
    /// `tx_burst` would take nothing.
    bool full() const;
    /// Bytes in the switch's queue towards this port.
    std::uint64_t queue() const;

    const PortCounters& port_counters() const { return counters_; }
    const LinkCounters& out_counters() const { return out_.counters(); }
    const LinkCounters& in_counters() const { return in_.counters(); }

    std::string_view name() const override { return setup_.name; }
    const pmd::Capabilities& capabilities() const override { return capabilities_; }
    std::optional<wire::MacAddress> mac() const override { return setup_.mac; }
    std::optional<pmd::RssTable> rss() const override { return setup_.rss; }
    Result<void> up() override;
    void down() override { is_up_ = false; }
    bool link_up() override { return is_up_; }
    std::uint16_t rx_burst(std::uint16_t queue, pmd::Burst burst) noexcept override;
    std::uint16_t tx_burst(std::uint16_t queue, pmd::Burst burst) noexcept override;
    /// Tells the switch where the address is.
    std::error_code set_identity(const pmd::Identity& identity) override;
    /// The port's own counters, then the links' as tx_link_... and rx_link_...
    void counters(const CounterVisitor& visit) const override;

private:
    friend class Network;

    rte_mbuf* admit(rte_mbuf* packet);
    std::size_t queue_for(const rte_mbuf& packet) const;
    rte_mbuf* refuse(rte_mbuf* packet, Counter& reason);
    void deliver(rte_mbuf* packet);

    Network& network_;
    const std::uint32_t index_;
    PortSetup setup_;
    pmd::Capabilities capabilities_;
    bool is_up_ = true;
    Serializer transmitter_, queue_;
    Link out_, in_;
    std::vector<std::deque<rte_mbuf*>> received_;  ///< of each queue
    PortCounters counters_;
};

}  // namespace verbline::sim
