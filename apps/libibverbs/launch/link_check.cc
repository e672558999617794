// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/launch/link_check.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <type_traits>

#include <ifaddrs.h>
#include <linux/capability.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <fmt/format.h>

#include "apps/libibverbs/launch/dpdk_port_check.h"
#include "datapath/link/ip_gid.h"
#include "pmd/base/file_descriptor.h"
#include "pmd/runtime/runtime_directory.h"
#include "pmd/runtime/trusted_path.h"

namespace verbline::verbs {
namespace {

namespace fs = std::filesystem;

bool capable(unsigned capability) {
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> data{};
    if (syscall(SYS_capget, &header, data.data()) != 0) return false;
    return (data[CAP_TO_INDEX(capability)].effective & CAP_TO_MASK(capability)) != 0;
}

// --- memif
// --------------------------------------------------------------------------------------------------------------

/// Whether a process listens on the socket; one left behind by a dead process does not count.
bool served(const sockaddr_un& address) {
    const FileDescriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    return connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 || errno == EAGAIN;
}

/// Checks the owners of the socket and of the directories above it, as far as they exist.
Result<void> check_owners(const pmd::MemifSpec& memif) {
    auto good = pmd::check_path(memif.path,
                                "use a directory that only root and you may write to, or name whom you trust with "
                                "`,owner=UID`",
                                memif.trust);
    if (!good && good.error().code == EPERM) return good;
    return {};
}

Result<void> check_link(const pmd::MemifSpec& memif) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (memif.path.size() >= sizeof address.sun_path)
        return failure(ENAMETOOLONG, fmt::format("a socket's path has at most {} bytes", sizeof address.sun_path - 1));
    // A relative path has become absolute by now, and links travel in a variable that is split at blanks.
    if (memif.path.find_first_of(" \t\n") != std::string::npos)
        return failure(
            EINVAL, fmt::format("a socket's path has no blanks, `{}` has; name one in another directory", memif.path));
    std::memcpy(address.sun_path, memif.path.data(), memif.path.size());
    std::error_code problem;
    const auto directory = fs::absolute(memif.path).parent_path();
    if (directory == pmd::runtime_directory())
        if (auto made = pmd::make_runtime_directory(directory); !made) return made;
    if (auto good = check_owners(memif); !good) return good;
    if (!fs::is_directory(directory, problem))
        return failure(ENOENT,
                       fmt::format("there is no directory {0}; make it with `mkdir -p {0}`", directory.string()));
    if (!memif.server) return {};  // the server may start later
    if (access(directory.c_str(), W_OK) != 0)
        return failure(EACCES, fmt::format("you may not write to {}; choose another directory", directory.string()));
    if (served(address))
        return failure(EADDRINUSE,
                       "another process serves this socket; leave `,server` out to connect to it, or choose "
                       "another path");
    return {};
}

// --- Interfaces of the kernel
// -------------------------------------------------------------------------------------------

/// The interface on which the kernel itself has this address; empty: it has not.
std::string kernel_interface_with(const wire::Gid& gid) {
    ifaddrs* found = nullptr;
    if (getifaddrs(&found) != 0) return {};
    const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> list(found, &freeifaddrs);
    for (const auto* entry = list.get(); entry != nullptr; entry = entry->ifa_next) {
        if (entry->ifa_addr == nullptr) continue;
        wire::Gid address{};
        if (entry->ifa_addr->sa_family == AF_INET) {
            const auto* v4 = reinterpret_cast<const sockaddr_in*>(entry->ifa_addr);
            address = link::gid_of(wire::Ipv4Address{ntohl(v4->sin_addr.s_addr)});
        } else if (entry->ifa_addr->sa_family == AF_INET6) {
            const auto* v6 = reinterpret_cast<const sockaddr_in6*>(entry->ifa_addr);
            std::memcpy(address.bytes.data(), &v6->sin6_addr, address.bytes.size());
        } else {
            continue;
        }
        if (address == gid) return entry->ifa_name;
    }
    return {};
}

Result<void> check_link(const pmd::EthernetSpec& link, std::span<const InterfaceAddress> addresses) {
    const FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq request{};
    std::memcpy(request.ifr_name, link.interface.data(), std::min(link.interface.size(), sizeof request.ifr_name - 1));
    if (ioctl(socket.get(), SIOCGIFFLAGS, &request) != 0)
        return failure(ENODEV, fmt::format("there is no interface {}; `ip link` lists them", link.interface));
    const auto flags = static_cast<unsigned short>(request.ifr_flags);
    if ((flags & IFF_UP) == 0)
        return failure(ENETDOWN,
                       fmt::format("interface {0} is down; `ip link set {0} up` brings it up", link.interface));
    if (ioctl(socket.get(), SIOCGIFHWADDR, &request) != 0 || request.ifr_hwaddr.sa_family != ARPHRD_ETHER)
        return failure(EPROTONOSUPPORT, fmt::format("interface {} is not an Ethernet interface", link.interface));
    if (!capable(CAP_NET_RAW))
        return failure(EPERM, "frames of an interface are for root; run as root or with CAP_NET_RAW");
    for (const auto& address : addresses)
        if (const auto owner = kernel_interface_with(address.gid); !owner.empty())
            return failure(EADDRINUSE, fmt::format("address {} is this host's own, on {}; leave --ip out to use the "
                                                   "interface's addresses, or choose another",
                                                   to_string(address), owner));
    return {};
}

Result<void> check_link(const pmd::TapSpec& tap) {
    if (access("/dev/net/tun", R_OK | W_OK) != 0)
        return failure(errno,
                       fmt::format("/dev/net/tun, which makes interfaces, cannot be opened: {}", std::strerror(errno)));
    std::error_code problem;
    if (!tap.netns.empty() && tap.netns.find('/') == tap.netns.npos &&
        !fs::exists(fs::path("/run/netns") / tap.netns, problem))
        return failure(ENOENT,
                       fmt::format("there is no network namespace {0}; `ip netns add {0}` makes it", tap.netns));
    const auto known = fs::path("/sys/class/net") / tap.interface;
    if (tap.netns.empty() && fs::exists(known, problem) && !fs::exists(known / "tun_flags", problem))
        return failure(EEXIST, fmt::format("interface {0} exists and is no tap; choose another name, or use eth:{0}",
                                           tap.interface));
    if (!capable(CAP_NET_ADMIN))
        return failure(EPERM, "making an interface is for root; run as root or with CAP_NET_ADMIN");
    return {};
}

// --- DPDK
// ---------------------------------------------------------------------------------------------------------------

Result<void> check_link(const pmd::DpdkSpec& port) {
    if (auto good = check_dpdk_port(port); !good) return good;
    if (const auto interface = kernel_interface_of(port)) return check_link(pmd::EthernetSpec{*interface}, {});
    return {};
}

}  // namespace

bool needs_privilege(const Link& link) {
    const auto* const port = std::get_if<pmd::DpdkSpec>(&link);
    return std::holds_alternative<pmd::EthernetSpec>(link) || std::holds_alternative<pmd::TapSpec>(link) ||
           (port != nullptr && !is_vhost_port(*port));
}

Result<void> check_local_link(const Link& link, std::span<const InterfaceAddress> addresses) {
    return std::visit(
        [&](const auto& one) -> Result<void> {
            if constexpr (requires { check_link(one); })
                return check_link(one);
            else if constexpr (requires { check_link(one, addresses); })
                return check_link(one, addresses);
            else
                return {};  // not the kernel's: its own service is queried (preflight.cc)
        },
        link);
}

}  // namespace verbline::verbs
