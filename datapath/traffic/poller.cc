// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/traffic/poller.h"

#include <atomic>

namespace verbline::traffic {

Result<void> Poller::start() {
    return worker_.start([this](const std::atomic<bool>& stop) {
        while (!stop.load(std::memory_order_relaxed)) {
            meter_.begin_poll();
            bool busy = false;
            for (auto* task : tasks_) busy |= task->poll();
            meter_.end_poll(busy);
        }
    });
}

}  // namespace verbline::traffic
