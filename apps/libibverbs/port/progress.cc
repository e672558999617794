// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/port/progress.h"

#include <algorithm>
#include <cerrno>
#include <tuple>
#include <utility>

#include <poll.h>
#include <pthread.h>
#include <rte_pause.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "apps/libibverbs/port/lcore.h"
#include "datapath/rdma/queue_pair.h"
#include "pmd/base/clock.h"

namespace verbline::verbs {
namespace {

constexpr unsigned receives_to_own = 8;           ///< in a row by the program, before the helper stops polling
constexpr std::uint32_t idle_before_yield = 256;  ///< rounds of the program
constexpr unsigned idle_between_yields = 64;
constexpr unsigned yields_in_vain = 4;
constexpr std::uint32_t idle_before_block = 8;
/// Limit of `idle`, which stands in for a yield that would lose a time slice. A timeout before the kernel's next tick
/// has to be programmed, which on a virtual machine takes longer than all the rest of the sleep.
constexpr Time longest_block = 4 * millisecond;
constexpr Time dense_polls = 20 * microsecond;  ///< between polls of a thread that does hardly anything else
constexpr Time time_slice = 200 * microsecond;  ///< many peers that poll and yield take less
constexpr Time shortest_contention = 100 * millisecond, longest_contention = 1600 * millisecond;
constexpr Time linger_time = 25 * microsecond;  ///< as long as a peer takes whose helper has to be woken
constexpr int credit_for_caught = 2, price_of_vain_linger = 4;

unsigned cpus() {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<unsigned>(CPU_COUNT(&set)) : 1;
}

void wait_for(const Progress::Arrival& arrival) {
    pollfd descriptor{arrival.descriptor, POLLIN, 0};
    const timespec timeout{.tv_sec = 0, .tv_nsec = arrival.most};
    ppoll(&descriptor, 1, &timeout, nullptr);
}

}  // namespace

Progress::Progress(pmd::NetDevice& link, rdma::Device& device, bool held_back, bool sleeps_long)
    : link_(link),
      device_(device),
      held_back_(held_back),
      sleeps_long_(sleeps_long),
      alone_(cpus() == 1),
      wake_(EventDescriptor::make()),
      contention_({.time_slice = clock_.ticks(time_slice),
                   .shortest_hold = clock_.ticks(shortest_contention),
                   .longest_hold = clock_.ticks(longest_contention)}) {}

bool Progress::enter(bool insist) noexcept {
    for (;;) {
        auto seen = Gate::open;
        if (gate_.compare_exchange_strong(seen, Gate::taken, std::memory_order_acquire)) return true;
        if (!insist) return false;
        // Also where it is marked: the thread inside is to see what this one has posted, too.
        if (gate_.compare_exchange_strong(seen, Gate::again, std::memory_order_release)) return false;
    }
}

bool Progress::exit() noexcept {
    return gate_.exchange(Gate::open, std::memory_order_acq_rel) == Gate::again;
}

/// With a sender, sends first.
bool Progress::poll(rdma::QueuePair* sender) noexcept {
    const AsLcore lcore;
    now_ = clock_.now();
    polled_at_.store(clock_.read_at(), std::memory_order_relaxed);
    const bool busy = sender != nullptr ? sender->send(now_) : device_.poll(0, now_);
    if (held_back_) std::ignore = link_.tx_burst(0, {});
    rounds_.store(rounds_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    return busy;
}

bool Progress::program_round(rdma::QueuePair* sender) noexcept {
    program_rounds_.store(program_rounds_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    const bool busy = poll(sender);
    program_seen_ = now_;
    if (sleeps_until_.load(std::memory_order_relaxed) > now_ + most_overslept) end_long_sleep();
    const auto received = device_.received(0);
    if (received == received_) return busy;
    received_ = received;
    ++received_in_a_row_;
    if (program_polls_.load(std::memory_order_relaxed) || received_in_a_row_ < receives_to_own) return busy;
    program_polls_.store(true, std::memory_order_relaxed);
    link_.want_rx_event(0, false);
    return busy;
}

/// Wakes the helper for what this round has made due before the helper's sleep ends: the program may not poll again.
void Progress::end_long_sleep() noexcept {
    const auto deadline = device_.next_deadline(0);
    if (!link_.wants_link_up() && (!deadline || *deadline >= sleeps_until_.load(std::memory_order_relaxed))) return;
    sleeps_until_.store(0, std::memory_order_relaxed);  // once
    wake();
}

bool Progress::drive() noexcept {
    if (abandoned() || !enter(false)) return false;
    bool busy = program_round();
    while (exit() && enter(false)) busy |= program_round();
    return busy;
}

void Progress::posted(rdma::QueuePair& pair) noexcept {
    if (abandoned()) return;
    if (!enter(false)) {
        pair.ring();  // before the gate is marked: the round that the mark requests sees it
        return posted();
    }
    program_round(&pair);
    if (exit()) posted();
}

void Progress::posted() noexcept {
    if (abandoned() || !enter(true)) return;
    do {
        program_round();
    } while (exit() && enter(true));
}

void Progress::posted_by_service() noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    const auto ended = rounds_.load(std::memory_order_acquire);  // the second one after these begins after the post
    for (unsigned looks = 0;; ++looks) {
        if (abandoned()) return;
        if (enter(true)) break;
        if (rounds_.load(std::memory_order_acquire) - ended >= 2) return;
        yield_or_sleep(looks);
    }
    do {
        is_helper() ? helper_poll() : program_round();
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

/// Yields the CPU to the peer, or to the thread inside the gate. Some schedulers take sched_yield for a mere hint:
/// after several in vain it becomes a short sleep, in which others do many packets' work.
void Progress::yield_or_sleep(unsigned times) noexcept {
    if (times < yields_in_vain) {
        sched_yield();
    } else {
        const timespec while_others_work{.tv_sec = 0, .tv_nsec = 50 * microsecond};
        syscall(SYS_nanosleep, &while_others_work, nullptr);  // by name it is a cancellation point
    }
}

/// The program polls from now on: disarms the receive event.
void Progress::take_over() noexcept {
    if (program_polls_.load(std::memory_order_relaxed) || !enter(true)) return;
    program_polls_.store(true, std::memory_order_relaxed);
    link_.want_rx_event(0, false);
    if (exit()) posted();
}

bool Progress::idle() noexcept {
    const auto rounds = idle_rounds_.fetch_add(1, std::memory_order_relaxed);
    if (alone_) {
        take_over();  // a helper woken for each packet would get them one at a time
        yield_or_sleep(rounds);
        return false;
    }
    const auto now = rte_rdtsc();
    contention_.went_on(now, now - polled_at_.load(std::memory_order_relaxed));
    if (rounds < idle_before_block) return false;
    if (!spins_on_memory() && contention_.contended(now)) {
        // A thread that does other work between two polls must not block here.
        const auto last = last_idle_.exchange(now, std::memory_order_relaxed);
        if (now - last > clock_.ticks(dense_polls)) return false;
        block_until_arrival();
        return true;
    }
    if (rounds >= idle_before_yield && rounds % idle_between_yields == 0) yield();
    return false;
}

void Progress::yield() noexcept {
    const auto began = rte_rdtsc();
    sched_yield();
    const auto now = rte_rdtsc();
    contention_.went_on(now, now - began);
}

/// Arms the receive event and polls once more. nullopt: there is work already.
std::optional<Progress::Arrival> Progress::arm() noexcept {
    program_polls_.store(true, std::memory_order_relaxed);
    blocked_.store(true, std::memory_order_relaxed);
    link_.want_rx_event(0, true);
    const bool busy = program_round();
    Arrival arrival{.descriptor = link_.rx_event(0), .most = longest_block};
    if (held_back_ || arrival.descriptor < 0) arrival.most = unsignalled_interval;
    if (const auto deadline = device_.next_deadline(0)) arrival.most = std::min(arrival.most, *deadline - now_);
    if (!exit() && !busy && arrival.most > 0) return arrival;
    disarm();
    return std::nullopt;
}

/// Hands the device back to the helper if the program has not received often enough in a row.
void Progress::disarm() noexcept {
    while (!enter(false)) sched_yield();
    bool wake_helper = false;
    blocked_.store(false, std::memory_order_relaxed);
    do {
        program_round();
        if (!program_polls_.load(std::memory_order_relaxed)) continue;  // another thread has left
        wake_helper = received_in_a_row_ < receives_to_own;
        program_polls_.store(!wake_helper, std::memory_order_relaxed);
        if (!wake_helper) link_.want_rx_event(0, false);
    } while (exit() && enter(true));
    if (wake_helper) wake();
}

void Progress::block_until_arrival() noexcept {
    if (abandoned()) return;
    int cancelable = 0;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelable);  // polling is no cancellation point
    // The thread inside the gate needs a CPU. Only one thread waits on the receive event: two would consume each
    // other's.
    if (blocked_.load(std::memory_order_relaxed) || !enter(false)) {
        wait_for({.descriptor = -1, .most = unsignalled_interval});
    } else if (const auto arrival = arm()) {
        wait_for(*arrival);
        disarm();
    }
    pthread_setcancelstate(cancelable, nullptr);
    last_idle_.store(rte_rdtsc(), std::memory_order_relaxed);
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
    if (abandoned() || !enter(true)) return;
    bool wake_helper = false;
    for (bool marked = false;; marked = true) {
        if (marked) program_round();  // another thread has posted, and no other would see its doorbell
        wake_helper |= program_polls_.exchange(false, std::memory_order_relaxed);
        received_in_a_row_ = 0;
        const auto deadline = device_.next_deadline(0);
        wake_helper |= deadline && *deadline < sleeps_until_.load(std::memory_order_relaxed);
        if (!exit() || !enter(true)) break;
    }
    if (wake_helper) wake();
}

void Progress::wake() const noexcept {
    if (!abandoned()) wake_.signal();  // otherwise the number may be the program's by now
}

void Progress::hold() noexcept {
    upkeep_mutex_.lock();
    while (!enter(false)) sched_yield();
}

void Progress::release() noexcept {
    upkeep_mutex_.unlock();
    if (exit()) posted();
}

/// A link that delays packets does not report when it has sent the last one.
void Progress::finish(Time until) noexcept {
    if (abandoned()) return;
    for (bool quiet = false; !quiet && monotonic_now() < until;) {
        if (!enter(false)) {
            sched_yield();  // the thread inside may be about to send
            continue;
        }
        const bool busy = program_round();
        const auto deadline = device_.next_deadline(0);
        quiet = !busy && !held_back_ && (!deadline || *deadline > now_);
        if (exit()) quiet = false;
    }
}

}  // namespace verbline::verbs
