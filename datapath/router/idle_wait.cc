// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/router/idle_wait.h"

#include <algorithm>
#include <cstdint>

namespace verbline::router {
namespace {

enum Waker : std::uint64_t { packets, command };  // tags of wakeups

constexpr Time retry_period = 100 * millisecond;

}  // namespace

IdleWait::IdleWait(Ports& ports, pmd::WakeSignal* signal) : ports_(ports), signal_(signal) {
    if (signal_ != nullptr && !wakeups_.add(signal_->descriptor(), command)) signal_ = nullptr;
}

bool IdleWait::arm(Time now) noexcept {
    if (signal_ == nullptr || now < next_try_) return false;
    signal_->prepare_to_wait();
    if (std::ranges::all_of(ports_, [this](const auto& port) { return arm(*port); })) return true;
    disarm();
    next_try_ = now + retry_period;
    return false;
}

bool IdleWait::arm(ShardPort& port) noexcept {
    auto& link = port.link();
    if (link.congested() || !wakeups_.want(port.kernel, link.queue(), packets)) return false;
    // A link that is down receives nothing, and a command reports that it is up.
    return wakeups_.want(link.device(), link.queue(), packets) || !port.carrier;
}

void IdleWait::wait(Time longest) noexcept {
    wakeups_.wait(longest, [this](std::uint64_t waker) {
        if (waker == command) signal_->drain();
    });
}

void IdleWait::disarm() noexcept {
    signal_->finish_wait();
    for (const auto& port : ports_) {
        port->kernel.want_rx_event(port->link().queue(), false);
        port->link().device().want_rx_event(port->link().queue(), false);
    }
}

}  // namespace verbline::router
