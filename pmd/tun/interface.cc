// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/tun/interface.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <fmt/format.h>

#include "pmd/tun/netns.h"
#include "pmd/tun/vnet_header.h"

namespace verbline::pmd {
namespace {

constexpr unsigned kernel_may_leave_to_us = TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6 | TUN_F_TSO_ECN;
constexpr unsigned tun_f_uso4 = 0x20, tun_f_uso6 = 0x40;  // <linux/if_tun.h> of Linux 6.2

ifreq request_for(const std::string& name) {
    ifreq request{};
    name.copy(request.ifr_name, IFNAMSIZ - 1);
    return request;
}

std::unexpected<Error> failed(const std::string& name, const char* what) {
    const int code = errno;
    return failure(code, fmt::format("interface {}: {}: {}", name, what, std::strerror(code)));
}

std::unexpected<Error> cannot_attach(const std::string& name, int code) {
    switch (code) {
        case EPERM:
            return failure(code, fmt::format("cannot open interface {}: run as root or with CAP_NET_ADMIN", name));
        case EBUSY:
            return failure(code, fmt::format("interface {} is in use by another process; stop that first", name));
        case EINVAL:
            return failure(code,
                           fmt::format("interface {} exists and is of another kind; choose another name or delete "
                                       "it with `ip link delete {}`",
                                       name, name));
        default: return failure(code, fmt::format("cannot open interface {}: {}", name, std::strerror(code)));
    }
}

Result<FileDescriptor> open_queue(const ifreq& wanted, std::string& name) {
    FileDescriptor queue(open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC));
    if (!queue) {
        return failure(errno,
                       fmt::format("cannot open /dev/net/tun: {}; load the kernel module tun", std::strerror(errno)));
    }
    ifreq request = wanted;
    if (ioctl(queue.get(), TUNSETIFF, &request) != 0) return cannot_attach(wanted.ifr_name, errno);
    name = request.ifr_name;
    const int header_size = sizeof(VnetHeader);
    if (ioctl(queue.get(), TUNSETVNETHDRSZ, &header_size) != 0) return failed(name, "virtio header");
    return queue;
}

}  // namespace

Result<TunInterface> TunInterface::open(const TunOptions& options) {
    if (options.name.empty() || options.name.size() >= IFNAMSIZ || options.name.contains('/')) {
        return failure(
            EINVAL, fmt::format("`{}` is no interface name: 1 to {} characters, no slash", options.name, IFNAMSIZ - 1));
    }
    if (options.queues == 0)
        return failure(EINVAL, fmt::format("interface {}: needs at least one queue", options.name));
    const auto visit = NetnsGuard::enter(options.netns);
    if (!visit) return std::unexpected(visit.error());
    TunInterface interface;
    if (auto done = interface.attach(options); !done) return std::unexpected(done.error());
    if (auto done = interface.configure(options); !done) return std::unexpected(done.error());
    return interface;
}

Result<void> TunInterface::attach(const TunOptions& options) {
    auto request = request_for(options.name);
    const int kind = options.kind == TunKind::tun ? IFF_TUN : IFF_TAP;
    request.ifr_flags =
        static_cast<short>(kind | IFF_NO_PI | IFF_VNET_HDR | (options.queues > 1 ? IFF_MULTI_QUEUE : 0));
    if (auto done = open_first_queue(request); !done) return done;
    request = [&, flags = request.ifr_flags] {  // by the name the kernel chose, if we left the choice to it
        auto named = request_for(name_);
        named.ifr_flags = flags;
        return named;
    }();
    const bool several = (request.ifr_flags & IFF_MULTI_QUEUE) != 0;
    while (several && queues_.size() < options.queues) {
        auto queue = open_queue(request, name_);
        if (!queue) return std::unexpected(queue.error());
        queues_.push_back(std::move(*queue));
    }
    return {};
}

/// An existing interface may have been created with one queue, or for several: if it differs from `request`, the
/// request is changed.
Result<void> TunInterface::open_first_queue(ifreq& request) {
    auto first = open_queue(request, name_);
    if (!first && first.error().code == EINVAL) {
        request.ifr_flags ^= IFF_MULTI_QUEUE;
        first = open_queue(request, name_);
    }
    if (!first) return std::unexpected(first.error());
    queues_.push_back(std::move(*first));
    return {};
}

Result<void> TunInterface::configure(const TunOptions& options) {
    control_ = FileDescriptor(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!control_) return failed(name_, "socket");
    // A kernel that could leave UDP segmentation to us also takes it from us; only the latter is wanted.
    takes_udp_segmentation_ = ioctl(queue(0), TUNSETOFFLOAD, TUN_F_CSUM | tun_f_uso4 | tun_f_uso6) == 0;
    if (ioctl(queue(0), TUNSETOFFLOAD, options.offloads ? kernel_may_leave_to_us : 0U) != 0)
        return failed(name_, "offloads");
    if (ioctl(queue(0), TUNSETPERSIST, options.persistent ? 1 : 0) != 0) return failed(name_, "persistence");
    if (options.mac && options.kind == TunKind::tap) {
        auto request = request_for(name_);
        request.ifr_hwaddr.sa_family = ARPHRD_ETHER;
        std::memcpy(request.ifr_hwaddr.sa_data, options.mac->bytes.data(), options.mac->bytes.size());
        if (ioctl(control_.get(), SIOCSIFHWADDR, &request) != 0) return failed(name_, "MAC address");
    }
    auto request = request_for(name_);
    request.ifr_mtu = options.mtu;
    if (ioctl(control_.get(), SIOCSIFMTU, &request) != 0) return failed(name_, "MTU");
    request = request_for(name_);
    request.ifr_qlen = options.transmit_queue_length;
    if (ioctl(control_.get(), SIOCSIFTXQLEN, &request) != 0) return failed(name_, "queue length");
    return {};
}

Result<void> TunInterface::set_up(bool up) {
    auto request = request_for(name_);
    if (ioctl(control_.get(), SIOCGIFFLAGS, &request) != 0) return failed(name_, "flags");
    request.ifr_flags = static_cast<short>(up ? request.ifr_flags | IFF_UP : request.ifr_flags & ~IFF_UP);
    if (ioctl(control_.get(), SIOCSIFFLAGS, &request) != 0) return failed(name_, up ? "bring up" : "take down");
    return {};
}

Result<void> TunInterface::set_carrier(bool carrier) {
    const unsigned value = carrier ? 1 : 0;
    if (ioctl(queue(0), TUNSETCARRIER, &value) != 0) return failed(name_, "carrier");
    return {};
}

bool TunInterface::is_up() const {
    auto request = request_for(name_);
    return ioctl(control_.get(), SIOCGIFFLAGS, &request) == 0 && (request.ifr_flags & IFF_UP) != 0;
}

}  // namespace verbline::pmd
