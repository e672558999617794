// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The engine behind the rdma_cm device: RDMA CM over the process's ports, and the control thread.
///
///     program's threads ── commands ──> with(...) ──┐
///                                                   v
///                                  one mutex: rdmacm::Service ──> PortNetwork ──> cm::Manager ──> Gsi ──> VerbsPort
///                                                   ^                                              │
///     control thread ── timers, MADs, answers ──────┘ <── eventfd <── thread that polls the port ──┘
///
/// MADs that arrive while the thread which holds the service is sending are received by that thread. On a machine of
/// one CPU the ports' helpers receive those that they find; otherwise the control thread does.
///
/// On release, the holder of the service polls ready endpoints, arms the timer of the control thread for the next
/// deadline, and, once the mutex is free, signals the event channels.

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "apps/libibverbs/ucma/event_channel.h"
#include "apps/libibverbs/ucma/port_network.h"
#include "control/loop/loop.h"
#include "control/rdmacm/service.h"
#include "control/telemetry/program_server.h"
#include "pmd/base/error.h"
#include "pmd/base/event_descriptor.h"
#include "pmd/base/quiet_thread.h"
#include "pmd/base/time.h"

namespace verbline::verbs {

class Process;

class CmEngine {
public:
    /// Opens all devices of the process; one that cannot be opened is skipped, with a line on standard error. ENODEV:
    /// none is left. `asked` runs on the control thread after `ask`.
    static Result<std::unique_ptr<CmEngine>> start(Process& process, std::function<void()> asked = {});
    CmEngine(const CmEngine&) = delete;
    CmEngine& operator=(const CmEngine&) = delete;
    ~CmEngine();

    /// Calls `act(service, now)` while holding the service. Any thread.
    template <class Act>
    auto with(Act&& act) {
        const Held held(*this);
        return act(*service_, held.now);
    }

    /// Marks the channel: its queue has changed, or may have. Requires the service.
    void changed(const std::shared_ptr<EventChannel>& channel);

    /// The monotonic clock, without a system call. Any thread.
    Time now() const { return clock_(); }

    /// Call before the program sleeps until an event comes (Progress::leave).
    void leave();
    /// At process exit: waits for the answers to DREQs, up to a second, and repeats the DREQs meanwhile.
    void finish();
    /// Makes the control thread run `asked`. Any thread; async-signal-safe.
    void ask() noexcept;

    void before_fork() { mutex_.lock(); }
    void after_fork() { mutex_.unlock(); }

private:
    /// Holds the service; the destructor releases it as described above.
    struct Held {
        explicit Held(CmEngine& held) : engine(held), lock(held.mutex_) {
            held.holder_.store(std::this_thread::get_id(), std::memory_order_relaxed);
        }
        Held(const Held&) = delete;
        Held& operator=(const Held&) = delete;
        ~Held() {
            const auto changed = engine.settle();
            engine.holder_.store({}, std::memory_order_relaxed);
            lock.unlock();
            for (const auto& channel : changed) channel->settle();
        }
        CmEngine& engine;
        std::unique_lock<std::mutex> lock;
        Time now = engine.now();
    };

    CmEngine() = default;
    Result<void> add_port(VerbsPort& port);
    Result<void> watch_ports();
    Result<void> watch_asked(std::function<void()> asked);
    void show();
    bool unanswered();
    void repeat_disconnects();
    std::vector<std::shared_ptr<EventChannel>> settle();
    void arm();
    void tick();
    void poll_ready();
    bool receive();
    std::optional<Time> deadline() const;

    std::function<Time()> clock_;
    std::mutex mutex_;                     ///< of everything below but the loop
    std::atomic<std::thread::id> holder_;  ///< of the mutex
    std::unique_ptr<control::Loop> loop_;
    std::vector<std::unique_ptr<PortNetwork>> ports_;
    std::unique_ptr<rdmacm::Service> service_;
    std::vector<cm::Endpoint*> ready_;  ///< reported by the managers; may be destroyed by now
    std::vector<std::shared_ptr<EventChannel>> changed_;
    std::optional<Time> armed_;  ///< deadline of the control thread's timer
    EventDescriptor asked_;
    // Used by the control thread.
    std::vector<control::Watch> watches_;
    control::Timer timer_;
    std::filesystem::path shown_at_;
    std::unique_ptr<telemetry::ProgramServer> shown_;
    QuietThread thread_;  ///< destroyed first
};

}  // namespace verbline::verbs
