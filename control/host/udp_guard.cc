// SPDX-License-Identifier: BSD-3-Clause
#include "control/host/udp_guard.h"

#include <cerrno>
#include <cstring>

#include <linux/filter.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <arpa/inet.h>
#include <fmt/format.h>

#include "datapath/wire/udp.h"

namespace verbline::host {
namespace {

bool guard(int fd, int family) {
    const int on = 1, least = 1;
    sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
    const sock_fprog program{.len = 1, .filter = &nothing};
    // Before the socket has its port, so that not one packet is kept.
    if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) != 0 ||
        setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) != 0) {
        return false;
    }
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &least, sizeof(least));
    if (family == AF_INET) {
        const sockaddr_in any{.sin_family = AF_INET, .sin_port = htons(wire::roce_v2_port)};
        return bind(fd, reinterpret_cast<const sockaddr*>(&any), sizeof(any)) == 0;
    }
    const sockaddr_in6 any{.sin6_family = AF_INET6, .sin6_port = htons(wire::roce_v2_port)};
    return setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) == 0 &&
           bind(fd, reinterpret_cast<const sockaddr*>(&any), sizeof(any)) == 0;
}

}  // namespace

Result<UdpGuard> UdpGuard::open() {
    UdpGuard result;
    for (const int family : {AF_INET, AF_INET6}) {
        FileDescriptor fd(socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
        if (!fd && errno == EAFNOSUPPORT && family == AF_INET6) continue;  // a kernel without IPv6 needs no guard
        if (fd && guard(fd.get(), family)) {
            result.sockets_[family == AF_INET ? 0 : 1] = std::move(fd);
            continue;
        }
        const int code = errno;
        if (code != EADDRINUSE) {
            return failure(code, fmt::format("UDP port {}: {}", wire::roce_v2_port, std::strerror(code)));
        }
        return failure(code, fmt::format("UDP port {} is in use: by the kernel's rdma_rxe (`rdma link` shows it) or by "
                                         "another user's program; stop that first",
                                         wire::roce_v2_port));
    }
    return result;
}

}  // namespace verbline::host
