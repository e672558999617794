// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/tun/netns.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <sched.h>

#include <fmt/format.h>

namespace verbline::pmd {

Result<NetnsGuard> NetnsGuard::enter(std::string_view netns) {
    if (netns.empty()) return NetnsGuard(FileDescriptor());
    const auto path = netns.contains('/') ? std::string(netns) : fmt::format("/run/netns/{}", netns);
    FileDescriptor there(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!there) {
        return failure(errno, fmt::format("cannot open network namespace {}: {}; create it with `ip netns add`", path,
                                          std::strerror(errno)));
    }
    FileDescriptor home(open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
    if (!home) return failure(errno, fmt::format("cannot open /proc/thread-self/ns/net: {}", std::strerror(errno)));
    if (setns(there.get(), CLONE_NEWNET) != 0) {
        return failure(errno, fmt::format("cannot enter network namespace {}: {}; run as root or with CAP_SYS_ADMIN",
                                          path, std::strerror(errno)));
    }
    return NetnsGuard(std::move(home));
}

NetnsGuard::~NetnsGuard() {
    if (!home_ || setns(home_.get(), CLONE_NEWNET) == 0) return;
    std::perror("verbline: cannot return to the process's own network namespace");
    std::abort();
}

}  // namespace verbline::pmd
