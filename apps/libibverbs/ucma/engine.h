// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What works behind the rdma_cm device: RDMA CM over the process's ports, and the control thread.
///
///     program's threads ── commands ──> with(...) ──┐
///                                                   v
///                                  one mutex: rdmacm::Service ──> PortNetwork ──> cm::Manager ──> Gsi ──> Port
///                                                   ^                                              │
///     control thread ── timers, MADs, answers ──────┘ <── eventfd <── whoever polls the port ──────┘
///
/// MADs that arrive while a thread with the service in its hands sends some, it receives itself. On a machine of one
/// CPU the ports' helpers do for those that they find; else the control thread.
///
/// Whoever has held the service sees to it that endpoints which have become ready are polled, that the control thread
/// wakes when the next of them is due, and, when the service is free again, that those who wait for events are told.

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "apps/libibverbs/port/quiet_thread.h"
#include "apps/libibverbs/ucma/channel.h"
#include "apps/libibverbs/ucma/port_network.h"
#include "control/loop/loop.h"
#include "control/rdmacm/service.h"
#include "control/telemetry/program_server.h"
#include "pmd/base/error.h"
#include "pmd/base/event_descriptor.h"
#include "pmd/base/time.h"

namespace verbline::verbs {

class Process;

class Engine {
public:
    /// Opens all devices of the process. One that cannot be opened is left out, with a line that says why. ENODEV.
    /// `asked`: what the control thread does when it has been asked to (`ask`).
    static Result<std::unique_ptr<Engine>> start(Process& process, std::function<void()> asked = {});
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;
    ~Engine();

    /// `act(service, now)`, alone. Any thread.
    template <class Act>
    auto with(Act&& act) {
        const Held held(*this);
        return act(*service_, held.now);
    }

    /// The channel's queue has changed, or may have. By who holds the service.
    void changed(const std::shared_ptr<Channel>& channel);

    /// The monotonic clock, without a system call. Any thread.
    Time now() const { return clock_(); }

    /// The program is about to sleep until an event comes.
    void leave();
    /// The process ends.
    void finish();
    /// Any thread; async-signal-safe.
    void ask() noexcept;

    void before_fork() { mutex_.lock(); }
    void after_fork() { mutex_.unlock(); }

private:
    /// The service is ours for as long as this lives; then the consequences are seen to.
    struct Held {
        explicit Held(Engine& held) : engine(held), lock(held.mutex_) {
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
        Engine& engine;
        std::unique_lock<std::mutex> lock;
        Time now = engine.now();
    };

    Engine() = default;
    Result<void> add_port(Port& port);
    Result<void> watch_ports();
    Result<void> watch_asked(std::function<void()> asked);
    void show();
    bool unanswered();
    void repeat_disconnects();
    std::vector<std::shared_ptr<Channel>> settle();
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
    std::vector<cm::Endpoint*> ready_;  ///< told of by the managers; may be gone
    std::vector<std::shared_ptr<Channel>> changed_;
    std::optional<Time> armed_;  ///< when the control thread wakes by itself
    EventDescriptor asked_;
    // The control thread's.
    std::vector<control::Watch> watches_;
    control::Timer timer_;
    std::filesystem::path shown_at_;
    std::unique_ptr<telemetry::ProgramServer> shown_;
    QuietThread thread_;  ///< goes first
};

}  // namespace verbline::verbs
