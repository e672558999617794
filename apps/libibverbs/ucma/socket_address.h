// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Converts between sockaddr_in, sockaddr_in6 and sockaddr_ib, as programs write them, and rdmacm::SocketAddress.

#include <cstddef>
#include <cstdint>
#include <optional>

#include <netinet/in.h>  // before linux/in6.h, which then leaves in6_addr to it: one definition

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

/// Size in bytes of an address of its family; 0 for an unknown family.
std::size_t size_of(const SocketAddressStorage& address);
std::size_t size_of(const rdmacm::SocketAddress& address);

/// EINVAL: unknown family, or `size` is not the family's.
Result<rdmacm::SocketAddress> to_address(const SocketAddressStorage& address, std::size_t size);
/// Older commands have room for IP addresses only.
Result<rdmacm::SocketAddress> to_address(const sockaddr_in6& address);

SocketAddressStorage to_storage(const rdmacm::SocketAddress& address);
/// AF_IB addresses become zero.
sockaddr_in6 to_ip_storage(const rdmacm::SocketAddress& address);

/// A GID as an AF_IB address, with the service id that encodes a port. The mask is zero, as the kernel's.
rdmacm::SocketAddress infiniband_address(const wire::Gid& gid, wire::PKey pkey, wire::CmServiceId service);

}  // namespace verbline::verbs
