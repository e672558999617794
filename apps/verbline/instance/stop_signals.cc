// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/instance/stop_signals.h"

#include <csignal>

#include <sys/signalfd.h>

namespace verbline::cli {

Result<StopSignals> StopSignals::watch(control::Loop& loop) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    FileDescriptor descriptor(signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
    auto watch = loop.watch(descriptor.get(), [&loop](std::uint32_t) { loop.stop(); });
    if (!watch) return std::unexpected(watch.error());
    return StopSignals(std::move(descriptor), std::move(*watch));
}

}  // namespace verbline::cli
