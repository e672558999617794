// SPDX-License-Identifier: BSD-3-Clause
#include "control/loop/loop.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>

#include "pmd/base/clock.h"

namespace verbline::control {

namespace {
constexpr std::uint64_t wake_id = 0;  // no watch has this id
}

void detail::cancel_watch(Loop& loop, std::uint64_t id) {
    const auto it = loop.watches_.find(id);
    if (it == loop.watches_.end()) return;
    ::epoll_ctl(loop.epoll_.get(), EPOLL_CTL_DEL, it->second->fd, nullptr);
    loop.watches_.erase(it);
}

void detail::cancel_timer(Loop& loop, std::uint64_t id) {
    const auto it = loop.timers_.find(id);
    if (it == loop.timers_.end()) return;
    loop.agenda_.erase({it->second->due, id});
    loop.timers_.erase(it);
}

Result<std::unique_ptr<Loop>> Loop::create() {
    FileDescriptor epoll(::epoll_create1(EPOLL_CLOEXEC));
    if (!epoll) return failure(errno, std::string("cannot create an epoll instance: ") + std::strerror(errno));
    auto wake = EventDescriptor::make();
    epoll_event event{.events = EPOLLIN, .data = {.u64 = wake_id}};
    if (!wake || ::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, wake.get(), &event) < 0) {
        return failure(errno, std::string("cannot create an eventfd: ") + std::strerror(errno));
    }
    return std::unique_ptr<Loop>(new Loop(std::move(epoll), std::move(wake)));
}

Time Loop::now() const {
    return monotonic_now();
}

Result<Watch> Loop::watch(int fd, Ready ready, std::uint32_t events) {
    const auto id = ++last_id_;
    watches_.emplace(id, std::make_shared<Watched>(fd, std::move(ready)));  // first: it may throw
    epoll_event event{.events = events, .data = {.u64 = id}};
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) < 0) {
        const int code = errno;
        watches_.erase(id);
        return failure(code, std::string("cannot watch a file descriptor: ") + std::strerror(code));
    }
    return Watch(*this, id);
}

Timer Loop::at(Time when, Task task) {
    return add_timer(when, 0, std::move(task));
}

Timer Loop::every(Time period, Task task) {
    return add_timer(now() + period, period, std::move(task));
}

Timer Loop::add_timer(Time due, Time period, Task task) {
    const auto id = ++last_id_;
    auto alarm = std::make_shared<Alarm>(due, period, std::move(task));
    timers_.emplace(id, alarm);
    agenda_.emplace(std::pair(due, id), std::move(alarm));
    return Timer(*this, id);
}

void Loop::post(Task task) {
    {
        const std::lock_guard lock(posted_mutex_);
        posted_.push_back(std::move(task));
    }
    wake();
}

void Loop::run() {
    while (!stopping_.exchange(false)) run_once(3600 * second);
}

void Loop::stop() {
    stopping_ = true;
    wake();
}

void Loop::wake() {
    wake_.signal();
}

int Loop::wait_milliseconds(Time max_wait) const {
    Time wait = max_wait;
    if (!agenda_.empty()) wait = std::min(wait, agenda_.begin()->first.first - now());
    if (wait <= 0) return 0;
    return static_cast<int>(std::min<Time>((wait + millisecond - 1) / millisecond, INT_MAX));
}

void Loop::run_once(Time max_wait) {
    std::array<epoll_event, 64> events;  // NOLINT(cppcoreguidelines-pro-type-member-init): epoll_wait fills it
    const int ready = ::epoll_wait(epoll_.get(), events.data(), events.size(), wait_milliseconds(max_wait));
    if (ready < 0 && errno == EBADF) stopping_ = true;  // epoll descriptor closed by other code: avoid spinning
    for (int i = 0; i < ready; ++i) {
        const std::uint64_t id = events[i].data.u64;  // a copy: epoll_event is packed, a reference would be misaligned
        if (id == wake_id) {
            wake_.drain();  // if not now, then next round
            continue;
        }
        const auto it = watches_.find(id);
        if (it == watches_.end()) continue;  // removed by an earlier callback of this round
        const auto watched = it->second;
        watched->ready(events[i].events);
    }
    fire_timers();
    run_posted();
}

void Loop::fire_timers() {
    // Only what is due now: a timer that re-arms itself at zero delay must not starve the descriptors.
    const Time round = now();
    const auto last = last_id_;
    for (auto it = agenda_.begin(); it != agenda_.end() && it->first.first <= round;) {
        const auto [due, id] = it->first;
        if (id > last) {
            ++it;
            continue;
        }
        const auto alarm = it->second;
        agenda_.erase(it);
        if (alarm->period == 0) {
            timers_.erase(id);
        } else {
            const Time missed = (round - due) / alarm->period;
            alarm->due = due + (missed + 1) * alarm->period;
            agenda_.emplace(std::pair(alarm->due, id), alarm);
        }
        alarm->task();
        it = agenda_.begin();
    }
}

void Loop::run_posted() {
    std::vector<Task> tasks;
    {
        const std::lock_guard lock(posted_mutex_);
        tasks.swap(posted_);
    }
    for (const auto& task : tasks) task();
}

}  // namespace verbline::control
