// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// An Ethernet device that carries several VLANs (IEEE 802.1Q), presented as one device for each, whose frames have no
/// tag.
///
///     rx_burst of any port ── device ── take the tag ──┬── the port's own: returned
///                                                      ├── another port's: waits for its rx_burst
///                                                      └── of no port: dropped and counted
///     tx_burst of a port ── put its tag ──> device
///
/// All ports have the device's queues and its MAC address. Threads: as for any NetDevice; the receive and transmit
/// bursts of one queue are made by the same thread for all ports.

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "pmd/base/counter.h"
#include "pmd/netdev.h"
#include "pmd/vlan/tag.h"

namespace verbline::pmd::vlan {

#define VERBLINE_VLAN_COUNTERS(X)                                              \
    X(rx_dropped_vlan, "frames of a VLAN, or untagged, that no port here has") \
    X(rx_dropped_malformed, "frames shorter than their Ethernet header and tag")

struct VlanCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_VLAN_COUNTERS)
};

class Port;

/// Owned by its ports together.
class Trunk : public std::enable_shared_from_this<Trunk> {
public:
    /// `mac`: that of all ports, used if the device does not determine one.
    static std::shared_ptr<Trunk> create(std::unique_ptr<NetDevice> device, wire::MacAddress mac);

    /// The port of a VLAN, or of untagged frames; once for each, all before one is up.
    std::unique_ptr<NetDevice> port(Id id);

    // For ports.

    NetDevice& device() { return *device_; }
    const NetDevice& device() const { return *device_; }
    wire::MacAddress mac() const { return mac_; }
    /// Whether the port is the one that shows the device's counters and has its receive event.
    bool first(const Port& port) const { return ports_.front() == &port; }

    Result<void> up();
    void down();
    std::error_code attach(const MulticastAddress& group);
    std::error_code detach(const MulticastAddress& group);
    /// Receives from the device as many frames as each port has room for, at most `limit`. Returns their number.
    std::uint16_t receive(std::uint16_t queue, std::size_t limit) noexcept;
    void want_rx_event(std::uint16_t queue, bool wanted) noexcept;
    void remove(const Port& port);
    void counters(const CounterVisitor& visit) const;

private:
    struct alignas(64) Queue {
        unsigned wanting = 0;  ///< ports that want the receive event
        VlanCounters counters;
    };

    Trunk(std::unique_ptr<NetDevice> device, wire::MacAddress mac);
    void distribute(Queue& queue, std::uint16_t number, Burst frames) noexcept;

    std::unique_ptr<NetDevice> device_;
    wire::MacAddress mac_;
    std::vector<Port*> ports_;
    std::array<Port*, id_mask + 1> by_id_{};
    std::vector<std::unique_ptr<Queue>> queues_;
    std::map<wire::MacAddress, unsigned> groups_;  ///< ports that have attached each
    unsigned up_ = 0;                              ///< ports that are
};

}  // namespace verbline::pmd::vlan
