// SPDX-License-Identifier: BSD-3-Clause
#include "control/host/netlink_socket.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <linux/nexthop.h>
#include <netlink/errno.h>
#include <netlink/netlink.h>
#include <sys/socket.h>

#include "pmd/tun/netns.h"

namespace verbline::host {

namespace {

// A table of a million routes is dumped at the reader's pace; what must fit are the changes made meanwhile.
constexpr int receive_buffer = 4 << 20;

int errno_of(int libnl_code) {
    switch (std::abs(libnl_code)) {
        case NLE_AGAIN: return EAGAIN;
        case NLE_NOMEM: return ENOBUFS;
        case NLE_PERM:
        case NLE_NOACCESS: return EPERM;
        case NLE_NODEV: return ENODEV;
        case NLE_EXIST: return EEXIST;
        case NLE_OBJ_NOTFOUND: return ENOENT;
        case NLE_AF_NOSUPPORT: return EAFNOSUPPORT;
        default: return EIO;
    }
}

}  // namespace

Error netlink_error(int libnl_code, std::string what) {
    return {errno_of(libnl_code), std::move(what) + ": " + nl_geterror(libnl_code)};
}

Result<NetlinkSocket> NetlinkSocket::open(const std::string& netns) {
    const auto inside = pmd::NetnsGuard::enter(netns);
    if (!inside) return std::unexpected(inside.error());

    Socket socket(nl_socket_alloc());
    if (!socket) return failure(ENOMEM, "cannot open a netlink socket: out of memory");
    errno = 0;
    if (const int e = nl_connect(socket.get(), NETLINK_ROUTE); e < 0) {
        const int code = errno;
        // libnl has no word for "too many open files", among others.
        if (e == -NLE_FAILURE && code != 0)
            return failure(code, std::string("cannot open a netlink socket: ") + std::strerror(code));
        return std::unexpected(netlink_error(e, "cannot open a netlink socket"));
    }
    if (const int e = nl_socket_set_nonblocking(socket.get()); e < 0) {
        return std::unexpected(netlink_error(e, "cannot make a netlink socket non-blocking"));
    }
    // Past the limit for ordinary processes where we may; without the right the default size and ENOBUFS serve.
    const int fd = nl_socket_get_fd(socket.get());
    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &receive_buffer, sizeof(receive_buffer));
    // The kernel's own sentence of why a request is refused; only newer than its errno.
    const int on = 1;
    setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof(on));
    setsockopt(fd, SOL_NETLINK, NETLINK_CAP_ACK, &on, sizeof(on));
    return NetlinkSocket(std::move(socket));
}

Result<void> NetlinkSocket::subscribe(rtnetlink_groups group) {
    if (const int e = nl_socket_add_membership(socket_.get(), group); e < 0) {
        return std::unexpected(netlink_error(e, "cannot follow the kernel's changes"));
    }
    return {};
}

int NetlinkSocket::fd() const {
    return nl_socket_get_fd(socket_.get());
}

bool NetlinkSocket::answers(const nlmsghdr& message, std::uint32_t sequence) const {
    return message.nlmsg_seq == sequence && message.nlmsg_pid == nl_socket_get_local_port(socket_.get());
}

Result<std::uint32_t> NetlinkSocket::send(nl_msg& request) {
    nl_complete_msg(socket_.get(), &request);
    if (const int e = nl_send(socket_.get(), &request); e < 0) {
        return std::unexpected(netlink_error(e, "cannot send to the kernel"));
    }
    return nlmsg_hdr(&request)->nlmsg_seq;
}

Result<std::uint32_t> NetlinkSocket::send_dump(int type, int family) {
    const NetlinkMessage request(nlmsg_alloc_simple(type, NLM_F_DUMP));
    // A header for all tables begins with the family. The kernel requires no more, except for next-hop objects the
    // whole header.
    nhmsg body{.nh_family = static_cast<unsigned char>(family)};
    const auto size = type == RTM_GETNEXTHOP ? sizeof(nhmsg) : sizeof(rtgenmsg);
    if (!request || nlmsg_append(request.get(), &body, size, NLMSG_ALIGNTO) < 0) {
        return failure(ENOMEM, "cannot dump the kernel's tables: out of memory");
    }
    return send(*request);
}

Result<NetlinkSocket::Outcome> NetlinkSocket::receive(const std::function<void(nlmsghdr&)>& each) {
    sockaddr_nl from{};
    unsigned char* bytes = nullptr;
    int left = nl_recv(socket_.get(), &from, &bytes, nullptr);
    const std::unique_ptr<unsigned char, Release<std::free>> owner(bytes);
    if (left == -NLE_AGAIN || left == 0) return Outcome::nothing;
    if (left == -NLE_NOMEM) return Outcome::lost;
    if (left < 0) return std::unexpected(netlink_error(left, "cannot read from the kernel"));
    if (from.nl_pid != 0) return Outcome::read;
    for (auto* message = reinterpret_cast<nlmsghdr*>(bytes); nlmsg_ok(message, left);
         message = nlmsg_next(message, &left)) {
        each(*message);
    }
    return Outcome::read;
}

}  // namespace verbline::host
