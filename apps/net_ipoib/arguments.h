// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The arguments of a port, as they stand behind `--vdev net_ipoib0,`. A value with commas is put into brackets:
///
///     device=[memif:/run/a.sock,server],sm=[ibsim:vl,host=H3],pkey=0x8001
///     device=hca:mlx5_0/1,sm=[umad:mlx5_0,port=1]
///     device=eth:eth1,link=roce_v2

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "apps/net_ipoib/proxy_addresses.h"
#include "datapath/wire/types.h"
#include "pmd/base/error.h"
#include "pmd/factory/device_spec.h"

namespace verbline::net_ipoib {

constexpr std::uint32_t default_mtu = 2044;       ///< of an InfiniBand link of 2048 bytes (RFC 4391, 6)
constexpr std::uint32_t default_roce_mtu = 1020;  ///< of the path MTU that fits Ethernet's 1500, 1024
constexpr std::uint32_t largest_mtu = 4092;       ///< of a link of 4096, the longest there is
constexpr std::uint16_t most_queues = 16;         ///< of the program, in each direction

struct Arguments {
    std::optional<pmd::DeviceSpec> device;  ///< what carries the packets; none: `null`
    std::uint32_t null_packet = 46;         ///< of `null`: bytes of an IP packet; with headers and FCS 64
    bool roce = false;                      ///< RoCE v2, which has no subnet manager; else InfiniBand
    std::string sm;                         ///< control/mad/open.h; empty: only of `null`, and of RoCE
    wire::PKey pkey{0xffff};
    std::uint32_t mtu = default_mtu;  ///< the largest that the program may set
    std::optional<wire::MacAddress> mac;
    std::size_t hosts = ProxyAddresses::default_capacity;

    /// Receive queues that the device has, and transmit queues unless it is an adapter.
    std::uint16_t device_queues() const;
    /// An adapter or an interface, which has a MAC address and an MTU of its own.
    bool device_is_of_kernel() const;
    bool adapter() const { return device && std::holds_alternative<pmd::HcaSpec>(*device); }
};

/// EINVAL: one line that names the argument.
Result<Arguments> parse_arguments(std::string_view text);

/// For RTE_PMD_REGISTER_PARAM_STRING.
#define VERBLINE_NET_IPOIB_PARAMETERS                                                                      \
    "device=<spec> sm=<spec> link=<infiniband|roce_v2> pkey=<0xNNNN> mtu=<bytes> mac=<xx:xx:xx:xx:xx:xx> " \
    "hosts=<count>"

}  // namespace verbline::net_ipoib
