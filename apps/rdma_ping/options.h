// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The command line of rdma_ping.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "datapath/link/gid_table.h"
#include "datapath/wire/types.h"
#include "pmd/base/error.h"
#include "pmd/factory/device_spec.h"
#include "pmd/impair/spec.h"

namespace verbline::rdma_ping {

constexpr std::uint32_t max_size = 1 << 20;  ///< bytes of one ping
constexpr std::uint32_t max_qps = 256;

struct Options {
    std::vector<std::string> eal;  ///< arguments before `--`
    std::string server;            ///< host name or address; empty: this is the server
    std::uint16_t tcp_port = 18515;
    pmd::DeviceSpec device;
    std::string capture;  ///< a file to write frames to; empty: none
    std::optional<pmd::ImpairSpec> impair;
    link::GidType carrier = link::GidType::roce_v2;
    wire::Gid gid{};  ///< RoCE: of our IP address
    wire::Lid lid{};  ///< soft fabric
    std::uint32_t mtu = 1024;
    std::uint32_t count = 10, size = 64;
    std::uint32_t qps = 1;  ///< queue pairs; the same at both ends

    /// Our MAC address if the device has none: derived from the LID as the soft fabric requires, else locally
    /// administered, with the last bytes of the IP address.
    wire::MacAddress mac() const;
};

/// nullopt: help was requested, and has been printed.
Result<std::optional<Options>> parse_options(int argc, const char* const* argv);

}  // namespace verbline::rdma_ping
