// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/hca/kernel_groups.h"

#include <cerrno>
#include <cstring>

#include <netinet/in.h>
#include <sys/socket.h>

namespace verbline::pmd::hca {

std::error_code KernelGroups::join(const wire::Gid& group) {
    const auto error = change(group, true);
    return error == std::errc::address_in_use ? std::error_code() : error;  // a member already
}

std::error_code KernelGroups::leave(const wire::Gid& group) {
    return change(group, false);
}

std::error_code KernelGroups::change(const wire::Gid& group, bool member) {
    if (interface_ == 0) return {};
    in6_addr address{};
    std::memcpy(&address, group.bytes.data(), sizeof address);
    const bool ipv4 = IN6_IS_ADDR_V4MAPPED(&address);
    auto& socket = ipv4 ? ipv4_ : ipv6_;
    if (!socket) socket = FileDescriptor(::socket(ipv4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!socket) return {errno, std::generic_category()};
    int result = 0;
    if (ipv4) {
        ip_mreqn request{.imr_multiaddr = {}, .imr_address = {}, .imr_ifindex = static_cast<int>(interface_)};
        std::memcpy(&request.imr_multiaddr, group.bytes.data() + 12, sizeof request.imr_multiaddr);
        result = setsockopt(socket.get(), IPPROTO_IP, member ? IP_ADD_MEMBERSHIP : IP_DROP_MEMBERSHIP, &request,
                            sizeof request);
    } else {
        const ipv6_mreq request{.ipv6mr_multiaddr = address, .ipv6mr_interface = interface_};
        result = setsockopt(socket.get(), IPPROTO_IPV6, member ? IPV6_JOIN_GROUP : IPV6_LEAVE_GROUP, &request,
                            sizeof request);
    }
    return result == 0 ? std::error_code() : std::error_code(errno, std::generic_category());
}

}  // namespace verbline::pmd::hca
