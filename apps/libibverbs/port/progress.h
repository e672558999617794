// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Drives the shard: the program's threads poll it whenever they post or look for completions, a helper thread of the
/// library when they do not.
///
///                                         polls in vain, or receives 8 times in a row
///              ┌────────────────────┐ ──────────────────────────────────────────────> ┌──────────────────────┐
///              │ helper: sleeps     │                                                 │ program: no signals; │
///              │ until signalled,   │ <────────────────────────────────────────────── │ helper looks after   │
///              │ then polls         │   sleeps on events; or not seen for a millisecond │ it each millisecond  │
///              └────────────────────┘                                                 └──────────────────────┘
///
/// A program that polls makes no system call, neither here nor at the peer. One that sleeps, or that is only the target
/// of READs and WRITEs, is served by the helper, which sleeps while nothing arrives.
///
/// A program that spins on its memory until the peer has written to it makes no calls while it waits, and the helper
/// would have to be woken for each packet. So where the helper received packets shortly after the program had polled,
/// `linger` goes on polling for some microseconds after a successful poll: most likely the next packet arrives right
/// then. A credit ends this where it does not pay off. As long as it lasts, the program is taken for one that spins:
/// it is not blocked, and the helper is back for it within a millisecond, also where CPUs are contended for. Both
/// would cost the peer, which spins as well, milliseconds.
///
/// Where compute-bound processes compete for the CPU (pmd::CpuContention), `idle` blocks a program that polls in vain
/// until something arrives, instead of yielding a whole time slice.
///
/// While the program makes no calls, the helper sleeps until the next timer expires or the link's upkeep is due, where
/// the link allows (`sleeps_long`); then the first call that arms a timer wakes it. Otherwise it sleeps for 5 ms at
/// most, so that calls need not wake it.
///
/// On a machine of one CPU the helper also runs the registered service (`serve`), whose thread would otherwise have to
/// be woken: a context switch and two system calls less for each packet.
///
/// Threads: any. One thread at a time polls, inside the gate. The others do not wait for it: after posting they ring
/// the doorbell and mark the gate, and the thread inside runs another round.

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "apps/libibverbs/port/owner.h"
#include "apps/libibverbs/port/tsc_clock.h"
#include "datapath/rdma/device.h"
#include "pmd/base/cpu_contention.h"
#include "pmd/base/event_descriptor.h"
#include "pmd/netdev.h"

namespace verbline::verbs {

class Progress {
public:
    /// `held_back`: the link delays packets (impair) and has to be called even if there is nothing to send.
    /// `sleeps_long`: the helper of an idle program sleeps until something is due.
    Progress(pmd::NetDevice& link, rdma::Device& device, bool held_back, bool sleeps_long);
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    /// False if no descriptor was left for waking the helper: `run` must not be called.
    bool usable() const { return static_cast<bool>(wake_); }

    /// One round, when the program looks for completions. Returns true if there was work.
    bool drive() noexcept;
    /// The program has published requests to this queue pair's send queue: transmits them, or rings the doorbell and
    /// leaves that to the thread inside the gate.
    void posted(rdma::QueuePair& pair) noexcept;
    /// The same, where the doorbell was rung.
    void posted() noexcept;
    /// Like `posted`, for services of the library, which may run on the helper. On return, what was posted has been
    /// transmitted, unless the link is full: a program that rejects a connection may call _exit(2) right then, and the
    /// peer would repeat its REQ to a process that has ended. Waits for a round of another thread, so it must not be
    /// called from within a round.
    void posted_by_service() noexcept;
    /// The program has found nothing; the caller must hold no lock that others need. Yields the CPU now and then. Where
    /// other programs compete for the CPU it blocks until something arrives, for 4 ms at most, about what a yield would
    /// cost. Returns true if something may have arrived: poll again.
    bool idle() noexcept;
    /// The program has found a completion: may poll a little longer (see above).
    void linger() noexcept;
    /// Call before the program sleeps until an event comes: hands polling over to the helper.
    void leave() noexcept;

    /// At process exit: polls until the device has nothing to send right now, or until `until`. Does not wait for
    /// packets that only a timer would send.
    void finish(Time until) noexcept;

    /// Sets the function that the helper calls, outside the gate, after `ask_helper`. An empty function removes it,
    /// once a call under way has returned.
    void serve(std::function<void()> service);
    /// From the polling thread. Returns true if that is the helper of a machine of one CPU, which will then call the
    /// service. False: the caller has to wake another thread.
    bool ask_helper() noexcept;

    /// Sets the function that the helper calls before it ends, when a descriptor that it sleeps on has been closed.
    /// Call before `run`.
    void on_lost(std::function<void()> notify) { on_lost_ = std::move(notify); }
    /// Sets the function that the helper calls with each upkeep of the link, a few times a second. Call before `run`.
    void on_upkeep(std::function<void()> act) { on_upkeep_ = std::move(act); }
    /// Sets the function that the helper calls a few times a second, after an upkeep. Call before `run`.
    void after_upkeep(std::function<void()> act) { after_upkeep_ = std::move(act); }
    /// Main function of the helper thread.
    void run(const std::stop_token& stop);
    /// Wakes the helper.
    void wake() const noexcept;

    /// Around a fork, by one thread: meanwhile no thread polls or runs the link's upkeep.
    void hold() noexcept;
    void release() noexcept;
    /// In the child after fork, or when the device is lost: from now on no call polls.
    void abandon() noexcept { abandoned_.store(true, std::memory_order_relaxed); }

    /// What a thread of the program blocks on.
    struct Arrival {
        int descriptor;  ///< -1: none, the link cannot signal
        Time most;
    };

private:
    static constexpr int most_credit = 64;                          ///< for lingering
    static constexpr Time unsignalled_interval = 50 * microsecond;  ///< poll interval of a device that cannot signal

    static constexpr Time most_overslept = 5 * millisecond;  ///< by the helper, of a timer that a call has armed

    enum class Gate : std::uint8_t { open, taken, again };  ///< again: taken, and another thread has posted

    bool enter(bool insist) noexcept;
    bool exit() noexcept;  ///< true: another round is due
    bool poll(rdma::QueuePair* sender) noexcept;
    bool program_round(rdma::QueuePair* sender = nullptr) noexcept;
    void end_long_sleep() noexcept;
    static void yield_or_sleep(unsigned times) noexcept;
    void take_over() noexcept;
    void yield() noexcept;
    void block_until_arrival() noexcept;
    std::optional<Arrival> arm() noexcept;
    void disarm() noexcept;
    bool helper_round() noexcept;
    bool helper_poll() noexcept;
    bool is_helper() const noexcept { return helper_id_.load(std::memory_order_relaxed) == std::this_thread::get_id(); }
    bool serve_asked();
    /// Lately packets came right after the program had polled, and were waited for: see above.
    bool spins_on_memory() const noexcept { return linger_credit_.load(std::memory_order_relaxed) > 0; }
    void watch_program();
    void sleep();
    void wait(int arrival, Time most);
    bool abandoned() const noexcept { return abandoned_.load(std::memory_order_relaxed) || Owner::in_copy(); }
    void upkeep();
    Time upkeep_due() const noexcept;

    pmd::NetDevice& link_;
    rdma::Device& device_;
    const bool held_back_, sleeps_long_;
    const bool alone_;  ///< the process may use one CPU only
    EventDescriptor wake_;

    std::atomic<Gate> gate_{Gate::open};
    std::atomic<bool> abandoned_{false};
    std::atomic<bool> program_polls_{false};        ///< changed inside the gate
    std::atomic<std::uint32_t> rounds_{0};          ///< that have ended; changed inside the gate
    std::atomic<std::uint32_t> program_rounds_{0};  ///< the same, of the program: shows the helper whether it polls
    std::atomic<std::uint32_t> idle_rounds_{0};
    std::atomic<int> linger_credit_{0};
    std::atomic<Time> sleeps_until_{0};        ///< of the helper; 0: awake
    std::atomic<std::uint64_t> last_idle_{0};  ///< ticks: when `idle` was last called
    std::atomic<std::uint64_t> polled_at_{0};  ///< ticks: when the last round began
    std::atomic<bool> blocked_{false};         ///< a thread of the program waits for a signal
    // Inside the gate.
    TscClock clock_;
    Time now_ = 0;  ///< of the last round
    unsigned received_in_a_row_ = 0;
    Time program_seen_ = 0;
    std::uint64_t received_ = 0;
    pmd::CpuContention contention_;  ///< any thread
    std::mutex service_mutex_;
    std::function<void()> service_;
    std::atomic<bool> served_{false};  ///< there is a service
    std::atomic<std::thread::id> helper_id_;
    // Used by the helper only.
    bool asked_ = false, lost_ = false;
    std::uint32_t rounds_at_sleep_ = 0;  ///< `program_rounds_` when it last went to sleep
    std::function<void()> on_lost_, on_upkeep_, after_upkeep_;
    Time next_report_ = 0;  ///< of `after_upkeep_`
    TscClock helper_clock_;
    std::mutex upkeep_mutex_;  ///< held during the link's upkeep
    Time last_upkeep_ = 0, next_upkeep_ = 0, down_interval_ = 2 * millisecond;
    bool link_up_ = false;
    bool program_is_near_ = false;  ///< program polled shortly before the helper last received
};

}  // namespace verbline::verbs
