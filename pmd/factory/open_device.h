// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Opens devices from parsed device strings.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pmd/base/time.h"
#include "pmd/base/tunables.h"
#include "pmd/ethdev/offloads.h"
#include "pmd/factory/device_spec.h"
#include "pmd/netdev.h"
#include "pmd/packet_pools.h"

namespace verbline::pmd {

struct OpenOptions {
    PacketPools pool = nullptr;  ///< for received packets and copies, by thread; outlives the device
    std::uint16_t mtu = 1500;    ///< bytes behind the Ethernet header
    std::uint16_t queues = 1;    ///< in each direction: as many as threads that use the device
    /// What a device with another number of queues spreads packets by, in software (SoftwareRss); outlives the device.
    /// Null: such a device keeps its number.
    const FlowHash* flows = nullptr;
    std::vector<int> sockets = {};  ///< then: NUMA sockets of the threads; empty: any
    std::uint16_t owner = 0;  ///< then its first queue belongs to the thread of our queue `owner` modulo `queues`, its
                              ///< second to the next one's, ...; so does the next member of a bridge
    std::uint32_t memif_slot = 2304;  ///< bytes; a longer frame takes several slots
    unsigned memif_log2_ring =
        tunables::memif_log2_ring;  ///< slots; unused by a server, since the client creates the rings
    OffloadChoice offloads = {};    ///< of a DPDK port
    bool isolated = false;          ///< it receives only what rules of it name (EthDeviceOptions)
    bool persistent = true;         ///< a tap outlives the process, so that its addresses survive a restart
    /// That an RDMA adapter's port must have; none: the device is to carry frames, and so cannot be one.
    std::optional<LinkLayer> link_layer = {};
    std::optional<wire::PKey> pkey = {};  ///< of whose partition it must be
    /// Of an adapter, at most so many receive queues; none: `queues`, where it can.
    std::optional<std::uint16_t> receive_queues = {};
    bool bridged = false;  ///< frames go on to other devices as they are: a tap's kernel leaves no work to them
};

/// Presents a device with `options.queues` queues, if `options` says by what to spread packets.
Result<std::unique_ptr<NetDevice>> with_queues(std::unique_ptr<NetDevice> device, const OpenOptions& options);

/// Opens one device, which is down at first.
Result<std::unique_ptr<NetDevice>> open_device(const DeviceSpec& spec, const OpenOptions& options);

/// Opens one or several devices; several are joined by a Bridge called `name`. `clock` is called by the control thread.
Result<std::unique_ptr<NetDevice>> open_devices(std::span<const DeviceSpec> specs, const std::string& name,
                                                const OpenOptions& options, std::function<Time()> clock);

}  // namespace verbline::pmd
