// SPDX-License-Identifier: BSD-3-Clause
#include "control/host/privileged_port.h"

#include <array>
#include <cerrno>
#include <fstream>

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fmt/format.h>

namespace verbline::host {
namespace {

unsigned first_unprivileged() {
    unsigned first = 1024;
    std::ifstream("/proc/sys/net/ipv4/ip_unprivileged_port_start") >> first;
    return first;
}

bool privileged() {
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> capabilities{};
    if (syscall(SYS_capget, &header, capabilities.data()) != 0) return false;
    return (capabilities[CAP_TO_INDEX(CAP_NET_BIND_SERVICE)].effective & CAP_TO_MASK(CAP_NET_BIND_SERVICE)) != 0;
}

}  // namespace

Result<void> may_bind(std::uint16_t port) {
    if (port == 0 || port >= first_unprivileged() || privileged()) return {};
    return failure(EACCES, fmt::format("port {} is for the privileged: take one from {} on, or give the program "
                                       "CAP_NET_BIND_SERVICE",
                                       port, first_unprivileged()));
}

}  // namespace verbline::host
