// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Devices from what users wrote.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "pmd/base/time.h"
#include "pmd/base/tunables.h"
#include "pmd/factory/device_spec.h"
#include "pmd/netdev.h"

struct rte_mempool;

namespace verbline::pmd {

struct OpenOptions {
    rte_mempool* pool = nullptr;  ///< for received packets and copies; outlives the device
    std::uint16_t mtu = 1500;     ///< bytes behind the Ethernet header
    std::uint16_t queues = 1;     ///< in each direction, where the device has them and the spec names no number
    std::uint32_t memif_slot =
        2304;  ///< bytes; a frame of at most so many is one copy, a longer one takes several slots
    unsigned memif_log2_ring =
        tunables::memif_log2_ring;  ///< slots; the client makes the rings, so what a server is given is not used
    bool persistent = true;         ///< a tap outlives the process, so that its addresses survive a restart
};

/// One device, down.
Result<std::unique_ptr<NetDevice>> open_device(const DeviceSpec& spec, const OpenOptions& options);

/// One or several; several are joined by a switch of that name. `clock` is the control thread's.
Result<std::unique_ptr<NetDevice>> open_devices(std::span<const DeviceSpec> specs, const std::string& name,
                                                const OpenOptions& options, std::function<Time()> clock);

}  // namespace verbline::pmd
