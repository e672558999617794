// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/wakeups/wakeups.h"

#include <algorithm>
#include <cerrno>

#include <sys/epoll.h>

namespace verbline::pmd {

Wakeups::Wakeups() : epoll_(epoll_create1(EPOLL_CLOEXEC)) {}

bool Wakeups::add(int fd, std::uint64_t tag) {
    epoll_event event{.events = EPOLLIN | EPOLLET, .data = {.u64 = tag}};
    // EEXIST: already registered; reported again only when it becomes readable anew, as intended.
    return epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0 || errno == EEXIST;
}

bool Wakeups::want(NetDevice& device, std::uint16_t queue, std::uint64_t tag) {
    device.want_rx_event(queue, true);  // first: a bridge learns by it whether all its members can signal
    const int fd = device.rx_event(queue);
    if (fd >= 0 && add(fd, tag)) return true;
    device.want_rx_event(queue, false);
    return false;
}

std::size_t Wakeups::wait_for(Time longest, std::span<std::uint64_t, max_burst> tags) {
    std::array<epoll_event, max_burst> events;
    const timespec time{.tv_sec = longest / second, .tv_nsec = longest % second};
    constexpr int most = max_burst;
    int n = epoll_pwait2(epoll_.get(), events.data(), most, &time, nullptr);
    // Before Linux 5.11, or behind a filter that does not know it: whole milliseconds.
    if (n < 0 && (errno == ENOSYS || errno == EPERM)) {
        n = epoll_wait(epoll_.get(), events.data(), most, static_cast<int>((longest + millisecond - 1) / millisecond));
    }
    const auto fired = std::span(events).first(static_cast<std::size_t>(std::max(n, 0)));
    std::ranges::transform(fired, tags.begin(), [](const epoll_event& event) { return event.data.u64; });
    return fired.size();
}

}  // namespace verbline::pmd
