// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Between sockaddr_in, sockaddr_in6 and sockaddr_ib, as programs write them, and rdmacm::SocketAddress.

#include <cstddef>
#include <cstdint>
#include <optional>

#include <rdma/rdma_user_cm.h>

#include "control/rdmacm/address.h"
#include "pmd/base/error.h"

namespace verbline::verbs {

/// struct sockaddr_ib of the kernel (rdma/ib.h), which the C library does not have. Network byte order but for
/// the family.
struct InfinibandSocketAddress {
    std::uint16_t family;
    std::uint16_t pkey;
    std::uint32_t flow_label;
    std::byte gid[16];
    std::uint64_t service_id, service_mask;
    std::uint64_t scope_id;
};
static_assert(sizeof(InfinibandSocketAddress) == 48);
constexpr std::uint16_t infiniband_family = 27;  ///< AF_IB

using SocketAddressStorage = __kernel_sockaddr_storage;

/// How many bytes an address of its family has; 0: of none that we know.
std::size_t size_of(const SocketAddressStorage& address);
std::size_t size_of(const rdmacm::SocketAddress& address);

/// EINVAL: the family is none that we know, or `size` is not its size.
Result<rdmacm::SocketAddress> to_address(const SocketAddressStorage& address, std::size_t size);
/// Older commands have room for IP addresses only.
Result<rdmacm::SocketAddress> to_address(const sockaddr_in6& address);

SocketAddressStorage to_storage(const rdmacm::SocketAddress& address);
/// AF_IB: as zero.
sockaddr_in6 to_ip_storage(const rdmacm::SocketAddress& address);

/// The AF_IB way to say a GID, with the service id that stands for a port; its mask is zero, as the kernel's.
rdmacm::SocketAddress infiniband_address(const wire::Gid& gid, wire::PKey pkey, wire::CmServiceId service);

}  // namespace verbline::verbs
