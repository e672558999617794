// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Parses device strings, by which users name a device.
///
///     tap:IFNAME[,netns=NS][,queues=N]     a kernel interface, Ethernet
///     eth:IFNAME                           an existing interface of the kernel's, beside the kernel
///     memif:SOCKET[,server][,owner=UID][,queues=N]
///                                          shared memory with another process; a SOCKET without a slash is in the
///                                          run-time directory; it must be of root, our own user, or the user UID; both
///                                          ends have the same number of queues
///     hca:NAME[/PORT][,library=PATH]       a port of an RDMA adapter, 1 if none is said, for IPoIB; PATH is that of
///                                          libibverbs.so.1, without it the system's
///     dpdk:DEVARGS                         a PCI address, or a virtual device with its arguments

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "pmd/base/error.h"
#include "pmd/runtime/trusted_path.h"

namespace verbline::pmd {

struct TapSpec {
    std::string interface;
    std::string netns;
    std::uint16_t queues = 1;
    bool operator==(const TapSpec&) const = default;
};

struct EthernetSpec {
    std::string interface;
    bool operator==(const EthernetSpec&) const = default;
};

struct MemifSpec {
    std::string path;
    bool server = false;
    Trust trust{};
    std::uint16_t queues = 1;
    bool operator==(const MemifSpec&) const = default;
};

struct HcaSpec {
    std::string device;
    std::uint8_t port = 1;
    std::string library;
    bool operator==(const HcaSpec&) const = default;
};

struct DpdkSpec {
    std::string devargs;
    bool operator==(const DpdkSpec&) const = default;
};

/// The PCI address, with its domain: "0000:03:00.0"; none: a virtual device, which EAL finds without its PCI bus.
std::optional<std::string> pci_address(const DpdkSpec& device);

/// A new kind: its struct, its text in device_spec.cc, its Opener in open_device.cc, a folder beside this one.
/// apps/EXTENDING.md has all places in order.
using DeviceSpec = std::variant<TapSpec, EthernetSpec, MemifSpec, HcaSpec, DpdkSpec>;

Result<DeviceSpec> parse_device_spec(std::string_view text);

}  // namespace verbline::pmd
