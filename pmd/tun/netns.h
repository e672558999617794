// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Switches the calling thread to another network namespace for a scope.
///
/// Sockets and tun descriptors stay in the namespace in which they were opened, so the switch is needed only while
/// opening them; the rest of the process stays in its own namespace.

#include <string_view>

#include "pmd/base/error.h"
#include "pmd/base/file_descriptor.h"

namespace verbline::pmd {

class NetnsGuard {
public:
    /// `netns` is a name under /run/netns (as `ip netns add` makes them), a path such as /proc/PID/ns/net, or empty for
    /// the thread's own namespace. Errors: no such namespace, no permission (needs CAP_SYS_ADMIN).
    static Result<NetnsGuard> enter(std::string_view netns);

    NetnsGuard(NetnsGuard&&) = default;
    NetnsGuard& operator=(NetnsGuard&&) = delete;
    /// Switches the thread back. Aborts the process if that fails, since the thread would go on in the wrong network.
    ~NetnsGuard();

private:
    explicit NetnsGuard(FileDescriptor home) : home_(std::move(home)) {}

    FileDescriptor home_;  ///< none: the thread never left
};

}  // namespace verbline::pmd
