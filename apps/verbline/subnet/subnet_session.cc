// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/subnet/subnet_session.h"

#include <algorithm>
#include <csignal>

#include <pthread.h>
#include <sys/signalfd.h>

#include <fmt/format.h>

#include "control/mad/open.h"

namespace verbline::cli {
namespace {

constexpr Time look_interval = 20 * millisecond;  ///< between two looks at what may end a wait

sigset_t stop_signals() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    return set;
}

}  // namespace

std::expected<SubnetSession, Failure> SubnetSession::open(const std::string& spec) {
    if (const auto parsed = mad::parse_spec(spec); !parsed) return usage_failure(parsed.error().what);
    auto loop = control::Loop::create();
    if (!loop) return run_failure(loop.error().what);
    auto transport = mad::open(spec, **loop);
    if (!transport) return run_failure(transport.error().what);
    SubnetSession session(std::move(*loop), std::move(*transport));
    if (!session.port().active() || session.port().sm_lid == wire::Lid{})
        return run_failure(fmt::format("{}: the port is not active; is a subnet manager running?", spec));
    return session;
}

bool SubnetSession::run_until(const std::function<bool()>& done, Time limit) {
    const Time end = loop_->now() + limit;
    while (!done() && loop_->now() < end) {
        if (stop_ != nullptr && stop_->load(std::memory_order_relaxed)) break;
        const auto left = end - loop_->now();
        loop_->run_once(stop_ != nullptr ? std::min(left, look_interval) : left);
    }
    return done();
}

void SubnetSession::hold_signals() {
    const auto set = stop_signals();
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

Outcome SubnetSession::run_until_signal() {
    const auto set = stop_signals();
    const FileDescriptor signals(signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
    const auto watch = loop_->watch(signals.get(), [this](std::uint32_t) { loop_->stop(); });
    if (!watch) return run_failure(watch.error().what);
    loop_->run();
    return {};
}

}  // namespace verbline::cli
