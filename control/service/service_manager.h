// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What the service manager that runs this process is told: the protocol of sd_notify(3).

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "pmd/base/file_descriptor.h"
#include "pmd/base/time.h"

namespace verbline::service {

class ServiceManager {
public:
    /// As NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID say; without the first, nobody is told anything.
    static ServiceManager from_environment();

    /// The process does what it is for. `status` is shown by `systemctl status`: one line.
    void ready(std::string_view status);
    void status(std::string_view status);
    /// Configuration is being read again, since `now` of CLOCK_MONOTONIC; `ready` ends it, whatever came of it.
    void reloading(Time now);
    void stopping(std::string_view status);
    /// Puts off the moment at which the manager takes the process for dead.
    void alive();
    /// How often `alive` is to be called: half of what the manager allows. None: it does not watch this process.
    std::optional<Time> alive_period() const { return alive_period_; }

    bool listens() const { return socket_.get() >= 0; }
    /// Messages that the manager did not take, as its queue was full or it has gone.
    std::size_t lost() const { return lost_; }

private:
    void send(const std::string& message);

    FileDescriptor socket_;  ///< connected
    std::optional<Time> alive_period_;
    std::size_t lost_ = 0;
};

}  // namespace verbline::service
