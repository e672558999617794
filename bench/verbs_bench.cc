// SPDX-License-Identifier: BSD-3-Clause
// The verbs as programs call them: one SEND of 64 bytes at a time, from ibv_post_send to its completion.
#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "bench/support/only_thread.h"
#include "bench/support/single_step.h"
#include "bench/support/verbs_connection.h"

namespace verbline {
namespace {

/// One message at a time, there and back as an ACK: the receiver polls as well.
void send_message(benchmark::State& state) {
    auto& sender = bench::VerbsConnection::only().sender();
    for (auto _ : state) {
        sender.post_send();
        sender.complete();
    }
    state.SetItemsProcessed(state.iterations());
}

BENCHMARK(send_message);

#if defined(__x86_64__)

std::uint64_t median(std::vector<std::uint64_t> of) {
    const auto middle = of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2);
    std::ranges::nth_element(of, middle);
    return *middle;
}

/// Waits without a system call, as another thread could receive the answer during one.
void wait_for_the_answer() {
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(5);
    while (std::chrono::steady_clock::now() < until) {}
}

/// Instructions of the sender. The slowdown adds some: timers are due, clocks are set.
void send_locked(benchmark::State& state) {
    auto& connection = bench::VerbsConnection::only();
    auto& sender = connection.sender();
    const bench::OnlyThread alone;
    bench::SingleStep step;
    std::vector<std::uint64_t> posted, posted_locked, completed, completed_locked;
    for (auto _ : state) {
        connection.stop_receiver();  // else it would answer a sender that is so slow before the post has returned
        const auto post = step.count([&] { sender.post_send(); });
        connection.resume_receiver();
        wait_for_the_answer();
        const auto poll = step.count([&] { sender.complete(); });
        posted.push_back(post.instructions);
        posted_locked.push_back(post.locked);
        completed.push_back(post.instructions + poll.instructions);
        completed_locked.push_back(post.locked + poll.locked);
    }
    state.counters["post_locked"] = static_cast<double>(median(posted_locked));
    state.counters["post_instructions"] = static_cast<double>(median(posted));
    state.counters["completion_locked"] = static_cast<double>(median(completed_locked));
    state.counters["completion_instructions"] = static_cast<double>(median(completed));
}

BENCHMARK(send_locked)->Iterations(21);

#endif

}  // namespace
}  // namespace verbline
