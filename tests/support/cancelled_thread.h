// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Calls by a thread that is about to be cancelled (pthread_cancel(3)).

#include <functional>
#include <thread>

#include <pthread.h>

namespace verbline::test {

/// Whether `call` is no cancellation point: it returns although its thread's cancellation is pending.
inline bool returns_when_cancelled(const std::function<void()>& call) {
    bool returned = false;
    std::thread([&] {
        pthread_cancel(pthread_self());
        call();
        returned = true;
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);  // the end of the thread is its own
    }).join();
    return returned;
}

}  // namespace verbline::test
