// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Who polls the shard: the program's threads, whenever they post or look for completions, and a thread of ours when
/// they do not.
///
///                                         polls in vain, or receives 8 times in a row
///              ┌────────────────────┐ ──────────────────────────────────────────────> ┌──────────────────────┐
///              │ helper: sleeps     │                                                 │ program: no signals; │
///              │ until signalled,   │ <────────────────────────────────────────────── │ helper looks after   │
///              │ then polls         │   sleeps on events; or not seen for a millisecond │ it each millisecond  │
///              └────────────────────┘                                                 └──────────────────────┘
///
/// A program that polls pays for no system call, neither here nor at the peer, and is not disturbed. One that sleeps,
/// or that is a mere target of READs and WRITEs, is served by the helper, which costs nothing while nothing happens.
///
/// Between the two are programs that spin on their memory for the peer's WRITE: they call nothing while they wait.
/// The helper would have to be woken for each. So where the helper got packets shortly after the program had looked,
/// `linger` keeps the program here a little when it has found what it looked for: most likely the next packet comes
/// right now. Where that does not pay off it ends.
///
/// On a busy machine, where compute-bound processes wait for the CPU (pmd::CpuContention), a program that polls in vain
/// blocks until something arrives instead of yielding a whole time slice: `idle`.
///
/// On a machine of one CPU the helper does as well what others would have to be woken for (`serve`): a switch and two
/// system calls less for each packet.
///
/// Threads: any. Whoever polls is alone in it; others go on, and leave word if they have posted something.

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
#include "pmd/base/file_descriptor.h"
#include "pmd/netdev.h"

namespace verbline::verbs {

class Progress {
public:
    /// `held_back`: the link keeps packets for later (impair) and has to be called even if there is nothing to send.
    Progress(pmd::NetDevice& link, rdma::Device& device, bool held_back);
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    /// False: there was no descriptor left with which to wake the helper, and it must not be begun.
    bool usable() const { return static_cast<bool>(wake_); }

    /// The program looks for something: one round. True: something was done.
    bool drive() noexcept;
    /// The program has posted something.
    void posted() noexcept;
    /// The same, by a service of ours, which the helper may have called. When it returns, what was posted has been
    /// transmitted, unless the link is full: a program that rejects a connection may end with _exit(2) right then, and
    /// the peer would repeat its REQ to nobody. Waits for the round of another thread if one is under way, so that it
    /// must not be called from within a round.
    void posted_by_service() noexcept;
    /// The program has found nothing, and holds no lock that others need: lets others have the CPU now and then. Where
    /// other programs compete for the CPU it blocks until something arrives, for 4 ms at most, about what a yield would
    /// cost. True: something may have arrived, look again.
    bool idle() noexcept;
    /// The program has found what it looked for.
    void linger() noexcept;
    /// The program is about to sleep until an event comes.
    void leave() noexcept;

    /// The process ends: drives the device until it has nothing to send right now, or it is `until`. Packets that only
    /// a timer would send are not waited for.
    void finish(Time until) noexcept;

    /// What the helper calls when it was asked to, outside of the gate; an empty function ends it, and waits for a call
    /// under way.
    void serve(std::function<void()> service);
    /// By whoever polls: asks the helper, if that is who polls, and it has the only CPU. False: somebody else has to be
    /// told.
    bool ask_helper() noexcept;

    /// What the helper calls, before it ends, when a descriptor that it sleeps on has been closed. Before `run`.
    void on_lost(std::function<void()> tell) { on_lost_ = std::move(tell); }
    /// The helper.
    void run(const std::stop_token& stop);
    /// Gets the helper out of its sleep.
    void wake() const noexcept;

    /// Around a fork, by one thread: nobody polls, or looks after the link, meanwhile.
    void hold() noexcept;
    void release() noexcept;
    /// In the child of a fork, or when the device is lost: nothing happens here any more.
    void abandon() noexcept { abandoned_.store(true, std::memory_order_relaxed); }

    /// What a thread of the program blocks on.
    struct Arrival {
        int descriptor;  ///< -1: none, the link cannot signal
        Time most;
    };

private:
    static constexpr int most_credit = 64;                          ///< for lingering
    static constexpr Time unsignalled_interval = 50 * microsecond;  ///< between looks at a device that cannot signal

    enum class Gate : std::uint8_t { open, taken, again };  ///< again: taken, and somebody has posted meanwhile

    bool enter(bool insist) noexcept;
    bool exit() noexcept;  ///< true: another round is due
    bool poll() noexcept;
    bool program_round() noexcept;
    static void give_way(unsigned times) noexcept;
    void take_over() noexcept;
    void yield() noexcept;
    void block_until_arrival() noexcept;
    std::optional<Arrival> arm() noexcept;
    void disarm() noexcept;
    bool helper_round() noexcept;
    bool helper_poll() noexcept;
    bool is_helper() const noexcept { return helper_id_.load(std::memory_order_relaxed) == std::this_thread::get_id(); }
    bool serve_asked();
    void watch_program();
    void sleep();
    void wait(int arrival, Time most);
    bool abandoned() const noexcept { return abandoned_.load(std::memory_order_relaxed) || Owner::in_copy(); }
    void upkeep();
    Time upkeep_due() const noexcept;

    pmd::NetDevice& link_;
    rdma::Device& device_;
    const bool held_back_;
    const bool alone_;  ///< on the one CPU there is
    FileDescriptor wake_;

    std::atomic<Gate> gate_{Gate::open};
    std::atomic<bool> abandoned_{false};
    std::atomic<bool> program_polls_{false};        ///< changed inside the gate
    std::atomic<std::uint32_t> rounds_{0};          ///< that have ended; changed inside the gate
    std::atomic<std::uint32_t> program_rounds_{0};  ///< so that the helper sees whether the program is still there
    std::atomic<std::uint32_t> idle_rounds_{0};
    std::atomic<int> linger_credit_{0};
    std::atomic<Time> sleeps_until_{0};        ///< the helper; 0: it is awake
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
    // The helper's.
    bool asked_ = false, lost_ = false;
    std::function<void()> on_lost_;
    TscClock helper_clock_;
    std::mutex upkeep_mutex_;  ///< held while the link is looked after
    Time last_upkeep_ = 0, next_upkeep_ = 0, down_interval_ = 2 * millisecond;
    bool link_up_ = false;
    bool program_is_near_ = false;  ///< was, when the helper last received
};

}  // namespace verbline::verbs
