// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/instance/stop_signals.h"

#include <csignal>
#include <functional>
#include <memory>

#include <sys/signalfd.h>
#include <unistd.h>

namespace verbline::cli {
namespace {

/// The kernel's own SIGHUP tells of a terminal that has gone; a process's is a request.
bool asks_to_reload(const signalfd_siginfo& signal) {
    return signal.ssi_signo == SIGHUP && signal.ssi_code != SI_KERNEL;
}

}  // namespace

Result<StopSignals> StopSignals::watch(control::Loop& loop) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    FileDescriptor descriptor(signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
    auto reload = std::make_shared<std::function<void()>>();
    auto watch = loop.watch(descriptor.get(), [&loop, fd = descriptor.get(), reload](std::uint32_t) {
        signalfd_siginfo signal{};
        if (read(fd, &signal, sizeof signal) != sizeof signal) return;
        if (*reload && asks_to_reload(signal)) return (*reload)();
        loop.stop();
    });
    if (!watch) return std::unexpected(watch.error());
    return StopSignals(std::move(descriptor), std::move(reload), std::move(*watch));
}

}  // namespace verbline::cli
