// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/router/runner.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string>
#include <string_view>

#include <rte_pause.h>
#include <sched.h>
#include <sys/prctl.h>

#include "pmd/base/clock.h"

namespace verbline::router {
namespace {

/// Waits until there is something to do; where a port has to be polled, naps.
void sleep(Shard& shard, Backoff& backoff, Time longest_wait) {
    const bool armed = shard.arm(monotonic_now());
    backoff.events_end_sleep(armed);
    if (!armed) {
        shard.nap(backoff.sleep_time());
        return;
    }
    if (shard.poll(monotonic_now()) == Work::busy) {  // it came before the events were armed
        backoff.busy();
    } else {
        shard.wait(longest_wait);
    }
    shard.disarm();
}

/// After an idle poll at `now`.
void rest(Shard& shard, Backoff& backoff, Time now, Time longest_wait) {
    switch (backoff.idle(now)) {
        case Idle::spin: rte_pause(); break;
        case Idle::yield: sched_yield(); break;
        case Idle::sleep: sleep(shard, backoff, longest_wait); break;
    }
}

/// Whether `cpu` is in a list as the kernel writes them: "2-3,6".
bool contains(std::string_view list, int cpu) {
    while (!list.empty()) {
        const auto item = list.substr(0, list.find(','));
        list.remove_prefix(std::min(list.size(), item.size() + 1));
        int first = -1;
        const auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), first);
        if (error != std::errc{}) continue;
        int last = first;
        if (end != item.data() + item.size() && *end == '-') std::from_chars(end + 1, item.data() + item.size(), last);
        if (first <= cpu && cpu <= last) return true;
    }
    return false;
}

}  // namespace

void run(Shard& shard, const std::atomic<bool>& stop, const Backoff::Limits& limits) {
    // Short sleeps: the default slack alone would turn 20 us into 70.
    prctl(PR_SET_TIMERSLACK, 1);
    Backoff backoff(limits);
    while (!stop.load(std::memory_order_relaxed)) {
        const auto now = monotonic_now();
        if (shard.poll(now) == Work::busy) {
            backoff.busy();
        } else {
            rest(shard, backoff, now, limits.longest_wait);
        }
    }
    shard.stop_reading();
}

bool on_isolated_cpu() {
    cpu_set_t mine;
    if (sched_getaffinity(0, sizeof mine, &mine) != 0 || CPU_COUNT(&mine) != 1) return false;
    std::string isolated;
    std::getline(std::ifstream("/sys/devices/system/cpu/isolated"), isolated);
    return contains(isolated, sched_getcpu());
}

}  // namespace verbline::router
