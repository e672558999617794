// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbs/port/progress.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <tuple>
#include <utility>

#include <poll.h>
#include <rte_pause.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "apps/verbs/port/lcore.h"
#include "pmd/clock.h"

namespace verbline::verbs {
namespace {

constexpr unsigned receives_to_own = 8;           ///< in a row, by the program, before it is trusted to go on
constexpr unsigned idle_before_sleep = 40;        ///< rounds of the helper: a few microseconds
constexpr unsigned idle_beside_program = 2;       ///< the same, while the program may need the CPU
constexpr std::uint32_t idle_before_yield = 256;  ///< rounds of the program
constexpr unsigned idle_between_yields = 64;
constexpr unsigned yields_in_vain = 4;
constexpr Time watch_interval = millisecond;
constexpr Time watch_interval_alone = 20 * millisecond;  ///< longer than the peer may have the CPU
constexpr Time near_program = 20 * microsecond;
constexpr Time linger_time = 10 * microsecond;  ///< as long as a peer takes whose helper has to be woken
constexpr int most_credit = 64, credit_for_missed = 8, credit_for_caught = 2, price_of_vain_linger = 4;
constexpr Time unsignalled_interval = 50 * microsecond;  ///< between looks at a device that cannot signal
constexpr Time most_sleep = 5 * millisecond;  ///< what a program posts and then forgets may have to be sent again
constexpr Time held_back_interval = 100 * microsecond;
constexpr Time link_down_interval = 2 * millisecond, longest_down_interval = 50 * millisecond,
               link_up_interval = 200 * millisecond;

unsigned cpus() {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<unsigned>(CPU_COUNT(&set)) : 1;
}

/// Alone on a CPU with the peer, every round in vain is time that the peer needs. Not every scheduler takes a yield for
/// more than a hint: one that gets nowhere becomes a short sleep, in which the peer does many packets' work.
void give_way(unsigned rounds) {
    if (rounds < yields_in_vain) {
        sched_yield();
    } else {
        const timespec while_peer_works{.tv_sec = 0, .tv_nsec = 50 * microsecond};
        nanosleep(&while_peer_works, nullptr);
    }
}

/// A helper that takes the only CPU from whoever has woken it gets packets one at a time, at a switch each. So it is no
/// interactive thread: its turn comes when the others wait or have had theirs. Real-time programs know what they do.
void take_turns() {
    const sched_param none{};
    if (sched_getscheduler(0) == SCHED_OTHER) std::ignore = sched_setscheduler(0, SCHED_BATCH, &none);
}

}  // namespace

Progress::Progress(pmd::NetDevice& link, rdma::Device& device, bool held_back)
    : link_(link),
      device_(device),
      held_back_(held_back),
      alone_(cpus() == 1),
      wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

bool Progress::enter(bool insist) noexcept {
    for (;;) {
        auto seen = Gate::open;
        if (gate_.compare_exchange_strong(seen, Gate::taken, std::memory_order_acquire)) return true;
        if (!insist || seen == Gate::again) return false;
        if (gate_.compare_exchange_strong(seen, Gate::again, std::memory_order_release)) return false;
    }
}

bool Progress::exit() noexcept {
    return gate_.exchange(Gate::open, std::memory_order_acq_rel) == Gate::again;
}

bool Progress::poll() noexcept {
    const AsLcore lcore;
    now_ = clock_.now();
    const bool busy = device_.poll(0, now_);
    if (held_back_) std::ignore = link_.tx_burst(0, {});
    return busy;
}

bool Progress::program_round() noexcept {
    program_rounds_.fetch_add(1, std::memory_order_relaxed);
    const bool busy = poll();
    program_seen_ = now_;
    const auto received = device_.received(0);
    if (received == received_) return busy;
    received_ = received;
    if (program_polls_.load(std::memory_order_relaxed) || ++received_in_a_row_ < receives_to_own) return busy;
    program_polls_.store(true, std::memory_order_relaxed);
    link_.want_rx_event(0, false);
    return busy;
}

bool Progress::drive() noexcept {
    if (abandoned_.load(std::memory_order_relaxed) || !enter(false)) return false;
    bool busy = program_round();
    while (exit() && enter(false)) busy |= program_round();
    return busy;
}

void Progress::posted() noexcept {
    if (abandoned_.load(std::memory_order_relaxed) || !enter(true)) return;
    do {
        program_round();
    } while (exit() && enter(true));
}

void Progress::posted_by_service() noexcept {
    if (!is_helper()) return posted();
    if (!enter(true)) return;
    do {
        helper_poll();
    } while (exit() && enter(true));
}

void Progress::serve(std::function<void()> service) {
    const std::scoped_lock lock(service_mutex_);
    service_ = std::move(service);
    served_.store(service_ != nullptr, std::memory_order_relaxed);
}

bool Progress::ask_helper() noexcept {
    if (!alone_ || !is_helper() || !served_.load(std::memory_order_relaxed)) return false;
    return asked_ = true;
}

bool Progress::serve_asked() {
    if (!std::exchange(asked_, false)) return false;
    const std::scoped_lock lock(service_mutex_);
    if (service_) service_();
    return true;
}

void Progress::idle() noexcept {
    const auto rounds = idle_rounds_.fetch_add(1, std::memory_order_relaxed);
    if (!alone_) {
        if (rounds >= idle_before_yield && rounds % idle_between_yields == 0) sched_yield();
        return;
    }
    // The helper, woken for each packet, would get them one at a time.
    if (!program_polls_.load(std::memory_order_relaxed) && enter(true)) {
        do {
            program_polls_.store(true, std::memory_order_relaxed);
            link_.want_rx_event(0, false);
        } while (exit() && enter(true));
    }
    give_way(rounds);
}

void Progress::linger() noexcept {
    idle_rounds_.store(0, std::memory_order_relaxed);
    const auto credit = linger_credit_.load(std::memory_order_relaxed);
    if (credit <= 0) return;
    const auto before = device_.received(0);
    const auto began = rte_rdtsc(), most = clock_.ticks(linger_time);
    bool received = false;
    do {
        drive();
        received = device_.received(0) != before;
    } while (!received && rte_rdtsc() - began < most);
    linger_credit_.store(received ? std::min(credit + credit_for_caught, most_credit) : credit - price_of_vain_linger,
                         std::memory_order_relaxed);
}

void Progress::leave() noexcept {
    if (abandoned_.load(std::memory_order_relaxed) || !enter(true)) return;
    bool wake_helper = false;
    do {
        wake_helper |= program_polls_.exchange(false, std::memory_order_relaxed);
        received_in_a_row_ = 0;
        const auto deadline = device_.next_deadline(0);
        wake_helper |= deadline && *deadline < sleeps_until_.load(std::memory_order_relaxed);
    } while (exit() && enter(true));
    if (wake_helper) wake();
}

void Progress::wake() const noexcept {
    const std::uint64_t one = 1;
    std::ignore = write(wake_.get(), &one, sizeof one);
}

void Progress::hold() noexcept {
    while (!enter(false)) sched_yield();
}

void Progress::release() noexcept {
    if (exit()) posted();
}

/// A link that holds packets back does not say when it has let go of the last.
void Progress::finish(Time until) noexcept {
    if (abandoned_.load(std::memory_order_relaxed)) return;
    for (bool quiet = false; !quiet && monotonic_now() < until;) {
        if (!enter(false)) {
            sched_yield();  // whoever is in it may be about to send
            continue;
        }
        const bool busy = program_round();
        const auto deadline = device_.next_deadline(0);
        quiet = !busy && !held_back_ && (!deadline || *deadline > now_);
        if (exit()) quiet = false;
    }
}

bool Progress::helper_poll() noexcept {
    const bool busy = poll();
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
    bool takes_turns = false;
    while (!stop.stop_requested()) {
        upkeep();
        const bool serves = alone_ && served_.load(std::memory_order_relaxed);
        if (serves && !std::exchange(takes_turns, true)) take_turns();
        const bool served = serve_asked();
        if (program_polls_.load(std::memory_order_relaxed)) {
            watch_program();
        } else if (helper_round() || served) {
            idle_rounds = 0;
        } else if (++idle_rounds < (program_is_near_ || serves ? idle_beside_program : idle_before_sleep)) {
            alone_ ? give_way(idle_rounds) : rte_pause();
        } else {
            sleep();
            idle_rounds = 0;
        }
    }
}

void Progress::watch_program() {
    const auto seen = program_rounds_.load(std::memory_order_relaxed);
    wait(false, alone_ ? watch_interval_alone : watch_interval);
    if (program_rounds_.load(std::memory_order_relaxed) != seen || !enter(true)) return;
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
    const bool busy = poll();  // what came before the signal was wanted
    const auto now = clock_.now();
    auto until = now + most_sleep;
    if (const auto deadline = device_.next_deadline(0)) until = std::min(until, *deadline);
    if (held_back_) until = std::min(until, now + held_back_interval);
    until = std::min(until, next_upkeep_);
    sleeps_until_.store(until, std::memory_order_relaxed);
    if (exit() || busy || asked_) return;
    wait(true, until - now);
    sleeps_until_.store(0, std::memory_order_relaxed);
    if (program_polls_.load(std::memory_order_relaxed) || !enter(false)) return;
    link_.want_rx_event(0, false);
    std::ignore = exit();  // the next round is due anyway
}

void Progress::wait(bool for_frames, Time most) const {
    std::array<pollfd, 2> descriptors{{{wake_.get(), POLLIN, 0}, {-1, POLLIN, 0}}};
    if (for_frames) {
        descriptors[1].fd = link_.rx_event(0);
        if (descriptors[1].fd < 0) most = std::min(most, link_up_ ? unsignalled_interval : down_interval_);
    }
    if (most <= 0) return;
    const timespec timeout{.tv_sec = most / second, .tv_nsec = most % second};
    if (ppoll(descriptors.data(), descriptors.size(), &timeout, nullptr) > 0 && descriptors[0].revents != 0) {
        std::uint64_t count = 0;
        std::ignore = read(wake_.get(), &count, sizeof count);
    }
}

void Progress::upkeep() {
    const auto now = helper_clock_.now();
    if (now < next_upkeep_) return;
    link_up_ = device_.check_link();
    // Whoever waits for its peer for long looks less and less often.
    down_interval_ = link_up_ ? link_down_interval : std::min(down_interval_ * 5 / 4, longest_down_interval);
    next_upkeep_ = now + (link_up_ ? link_up_interval : down_interval_);
}

}  // namespace verbline::verbs
