// SPDX-License-Identifier: BSD-3-Clause
// The helper thread: polls while the program does not.
#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include <poll.h>
#include <rte_cycles.h>
#include <rte_pause.h>
#include <sched.h>

#include "apps/libibverbs/port/own_descriptors.h"
#include "apps/libibverbs/port/progress.h"

namespace verbline::verbs {
namespace {

constexpr unsigned idle_before_sleep = 40;   ///< rounds of the helper: a few microseconds
constexpr unsigned idle_beside_program = 2;  ///< the same, while the program may need the CPU
constexpr Time watch_interval = millisecond;
constexpr Time watch_interval_alone = 20 * millisecond;  ///< longer than a peer keeps the CPU
constexpr Time watch_interval_contended = 10 * millisecond;
constexpr int credit_for_missed = 8;
constexpr Time near_program = 50 * microsecond;  ///< within which a peer answers, its helper woken for it
constexpr Time held_back_interval = 100 * microsecond;
constexpr Time link_down_interval = 2 * millisecond, longest_down_interval = 50 * millisecond,
               link_up_interval = 200 * millisecond;
constexpr Time urgent_interval = millisecond;  ///< while the link requests upkeep (pmd::NetDevice::wants_link_up)

/// On the only CPU, a helper that preempts the thread which has woken it gets packets one at a time, at a context
/// switch each. So it is made a batch thread (SCHED_BATCH), which runs when the others wait or have used up their time
/// slices. Real-time policies are left alone.
void become_batch_thread() {
    const sched_param none{};
    if (sched_getscheduler(0) == SCHED_OTHER) std::ignore = sched_setscheduler(0, SCHED_BATCH, &none);
}

}  // namespace

bool Progress::serve_asked() {
    if (!std::exchange(asked_, false)) return false;
    const std::scoped_lock lock(service_mutex_);
    if (service_) service_();
    return true;
}

bool Progress::helper_poll() noexcept {
    const bool busy = poll(nullptr);
    const auto received = device_.received(0);
    if (received == received_) return busy;
    received_ = received;
    received_in_a_row_ = 0;
    program_is_near_ = now_ - program_seen_ < near_program;
    if (program_is_near_) {
        const auto credit = linger_credit_.load(std::memory_order_relaxed);
        linger_credit_.store(std::min(credit + credit_for_missed, most_credit), std::memory_order_relaxed);
    }
    return busy;
}

bool Progress::helper_round() noexcept {
    if (!enter(false)) return false;
    bool busy = false;
    do {
        busy |= helper_poll();
    } while (exit() && enter(true));
    return busy;
}

void Progress::run(const std::stop_token& stop) {
    unsigned idle_rounds = 0;
    helper_id_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    bool batch = false;
    while (!stop.stop_requested() && !lost_) {
        upkeep();
        const bool serves = alone_ && served_.load(std::memory_order_relaxed);
        if (serves && !std::exchange(batch, true)) become_batch_thread();
        const bool served = serve_asked();
        if (program_polls_.load(std::memory_order_relaxed)) {
            watch_program();
        } else if (helper_round() || served) {
            idle_rounds = 0;
        } else if (++idle_rounds < (program_is_near_ || serves ? idle_beside_program : idle_before_sleep)) {
            alone_ ? yield_or_sleep(idle_rounds) : rte_pause();
        } else {
            sleep();
            idle_rounds = 0;
        }
    }
    if (!lost_) return;
    abandon();
    if (on_lost_) on_lost_();
}

void Progress::watch_program() {
    const auto seen = program_rounds_.load(std::memory_order_relaxed);
    const bool contended = !spins_on_memory() && contention_.contended(rte_rdtsc());
    const Time interval = alone_ ? watch_interval_alone : contended ? watch_interval_contended : watch_interval;
    // Too early to conclude that the program has stopped polling.
    if (interval > urgent_interval && link_.wants_link_up()) return wait(-1, urgent_interval);
    wait(-1, interval);
    if (blocked_.load(std::memory_order_relaxed) || program_rounds_.load(std::memory_order_relaxed) != seen) return;
    if (!enter(true)) return;
    program_polls_.store(false, std::memory_order_relaxed);
    received_in_a_row_ = 0;
    std::ignore = exit();
}

void Progress::sleep() {
    if (!enter(false)) {
        sched_yield();
        return;
    }
    link_.want_rx_event(0, true);
    const bool busy = poll(nullptr);  // for packets that arrived before the event was armed
    const auto now = clock_.now();
    const auto rounds = program_rounds_.load(std::memory_order_relaxed);
    const bool quiet = std::exchange(rounds_at_sleep_, rounds) == rounds && sleeps_long_;
    auto until = quiet ? upkeep_due() : std::min(upkeep_due(), now + most_overslept);
    if (const auto deadline = device_.next_deadline(0)) until = std::min(until, *deadline);
    if (held_back_) until = std::min(until, now + held_back_interval);
    const int descriptor = link_.rx_event(0);
    if (descriptor < 0) until = std::min(until, now + (link_up_ ? unsignalled_interval : down_interval_));
    sleeps_until_.store(until, std::memory_order_relaxed);
    const bool sleeps = !exit() && !busy && !asked_;
    if (sleeps) wait(descriptor, until - now);
    sleeps_until_.store(0, std::memory_order_relaxed);
    if (!sleeps || program_polls_.load(std::memory_order_relaxed) || !enter(false)) return;
    link_.want_rx_event(0, false);
    std::ignore = exit();  // the next round is due anyway
}

void Progress::wait(int arrival, Time most) {
    std::array<pollfd, 2> descriptors{{{wake_.get(), POLLIN, 0}, {arrival, POLLIN, 0}}};
    if (most <= 0) return;
    const timespec timeout{.tv_sec = most / second, .tv_nsec = most % second};
    if (ppoll(descriptors.data(), descriptors.size(), &timeout, nullptr) <= 0) return;
    if (((descriptors[0].revents | descriptors[1].revents) & POLLNVAL) != 0) {
        lost_ = true;
    } else if (descriptors[0].revents != 0) {
        // A descriptor that is no longer ours must not be read. Without a wake-up, upkeep detects the loss.
        lost_ = OwnDescriptors::is_lost(wake_.get());
        if (!lost_) wake_.drain();
    }
}

Time Progress::upkeep_due() const noexcept {
    return link_.wants_link_up() ? std::min(next_upkeep_, last_upkeep_ + urgent_interval) : next_upkeep_;
}

void Progress::upkeep() {
    const auto now = helper_clock_.now();
    if (now < upkeep_due()) return;
    last_upkeep_ = now;
    {
        const std::scoped_lock lock(upkeep_mutex_);
        link_up_ = device_.check_link();
        if (on_upkeep_) on_upkeep_();
    }
    lost_ = lost_ || OwnDescriptors::is_lost(wake_.get());
    // While the link stays down, the interval grows.
    down_interval_ = link_up_ ? link_down_interval : std::min(down_interval_ * 5 / 4, longest_down_interval);
    next_upkeep_ = now + (link_up_ ? link_up_interval : down_interval_);
    if (!after_upkeep_ || now < next_report_ || lost_) return;
    next_report_ = now + link_up_interval;
    after_upkeep_();
}

}  // namespace verbline::verbs
