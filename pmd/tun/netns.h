// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A visit to another network namespace by the calling thread.
///
/// Sockets and tun descriptors belong for life to the namespace they were opened in, so a visit is needed only while
/// opening them; the process itself stays where it was started.

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
    /// Brings the thread back. A thread that cannot come back would work in the wrong network: the process is aborted.
    ~NetnsGuard();

private:
    explicit NetnsGuard(FileDescriptor home) : home_(std::move(home)) {}

    FileDescriptor home_;  ///< none: the thread never left
};

}  // namespace verbline::pmd
