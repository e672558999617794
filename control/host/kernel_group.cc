// SPDX-License-Identifier: BSD-3-Clause
#include "control/host/kernel_group.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <netinet/in.h>
#include <sys/socket.h>

#include <arpa/inet.h>
#include <fmt/format.h>

#include "datapath/link/ip_gid.h"
#include "datapath/wire/text.h"

namespace verbline::host {
namespace {

int join_ipv4(int fd, unsigned ifindex, wire::Ipv4Address group) {
    ip_mreqn request{};
    request.imr_multiaddr.s_addr = htonl(static_cast<std::uint32_t>(group));
    request.imr_ifindex = static_cast<int>(ifindex);
    return setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &request, sizeof(request));
}

int join_ipv6(int fd, unsigned ifindex, const wire::Gid& group) {
    ipv6_mreq request{};
    std::memcpy(&request.ipv6mr_multiaddr, group.bytes.data(), group.bytes.size());
    request.ipv6mr_interface = ifindex;
    return setsockopt(fd, IPPROTO_IPV6, IPV6_JOIN_GROUP, &request, sizeof(request));
}

}  // namespace

Result<FileDescriptor> join_kernel_group(unsigned ifindex, const wire::Gid& group) {
    const auto ipv4 = link::ipv4_of(group);
    FileDescriptor fd(socket(ipv4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!fd || (ipv4 ? join_ipv4(fd.get(), ifindex, *ipv4) : join_ipv6(fd.get(), ifindex, group)) != 0) {
        const int code = errno;
        return failure(code, fmt::format("the kernel cannot join group {} on interface {}: {}", wire::to_string(group),
                                         ifindex, std::strerror(code)));
    }
    return fd;
}

}  // namespace verbline::host
