// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The control thread of the umad devices, and their ports. Started by the first open.

#include <functional>
#include <memory>
#include <vector>

#include "apps/libibverbs/umad/port.h"
#include "control/loop/loop.h"
#include "pmd/base/event_descriptor.h"
#include "pmd/base/quiet_thread.h"

namespace verbline::verbs {

class Process;

class UmadService {
public:
    /// `asked` runs on the control thread after `ask`.
    static Result<std::unique_ptr<UmadService>> start(Process& process, std::function<void()> asked);
    UmadService(const UmadService&) = delete;
    UmadService& operator=(const UmadService&) = delete;
    ~UmadService() { stop(); }

    /// The port of the device with this index; opened by the first call. ENXIO: there is no such device. One thread at
    /// a time.
    Result<std::shared_ptr<UmadPort>> port(unsigned index);
    /// Makes the control thread run `asked`. Any thread; async-signal-safe.
    void ask() noexcept { asked_.signal(); }
    /// Ends the control thread and detaches the ports. Files stay, and nothing reaches them any more.
    void stop();

private:
    explicit UmadService(Process& process) : process_(process) {}
    void run_there(const std::function<void()>& task);

    Process& process_;
    std::unique_ptr<control::Loop> loop_;
    std::vector<std::shared_ptr<UmadPort>> ports_;  ///< by index of their device
    EventDescriptor asked_;
    control::Watch watch_;  ///< of `asked_`
    QuietThread thread_;
};

}  // namespace verbline::verbs
