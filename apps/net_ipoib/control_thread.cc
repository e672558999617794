// SPDX-License-Identifier: BSD-3-Clause
#include "apps/net_ipoib/control_thread.h"

#include <csignal>
#include <cstring>
#include <future>
#include <utility>

#include <rte_lcore.h>

#include <fmt/format.h>

namespace verbline::net_ipoib {

Result<std::unique_ptr<ControlThread>> ControlThread::start(const std::string& name) {
    auto loop = control::Loop::create();
    if (!loop) return std::unexpected(loop.error());
    std::unique_ptr<ControlThread> made(new ControlThread(std::move(*loop)));
    const auto run = [](void* loop_of_it) -> void* {
        sigset_t all;
        sigfillset(&all);
        for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) sigdelset(&all, fault);
        pthread_sigmask(SIG_SETMASK, &all, nullptr);
        static_cast<control::Loop*>(loop_of_it)->run();
        return nullptr;
    };
    const int error = rte_ctrl_thread_create(&made->thread_, name.c_str(), nullptr, run, made->loop_.get());
    if (error != 0) return failure(-error, fmt::format("no thread can be started: {}", std::strerror(-error)));
    made->runs_ = true;
    return made;
}

ControlThread::~ControlThread() {
    if (!runs_) return;
    loop_->stop();
    pthread_join(thread_, nullptr);
}

void ControlThread::call(const std::function<void()>& task) {
    std::promise<void> done;
    loop_->post([&] {
        task();
        done.set_value();
    });
    done.get_future().wait();
}

}  // namespace verbline::net_ipoib
