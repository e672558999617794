// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/rdma/session.h"

#include <fmt/format.h>

#include "apps/verbline/bench/rdma/service.h"
#include "pmd/base/clock.h"

namespace verbline::rdma_bench {

Result<void> may_go_on(const Port& port, const std::atomic<bool>& stop) {
    if (stop.load(std::memory_order_relaxed)) return failure(ECANCELED, "interrupted");
    if (!port.link_up())
        return failure(ENOLINK, fmt::format("{} has no link any more; is the other end gone?", port.text()));
    return {};
}

Result<void> await_link(Port& port, const std::atomic<bool>& stop, Time patience) {
    const auto until = monotonic_now() + patience;
    while (!port.link_up()) {
        const auto now = monotonic_now();
        if (stop.load(std::memory_order_relaxed)) return failure(ECANCELED, "interrupted");
        if (now > until) return failure(ENOLINK, fmt::format("{} has no link; start the other end first", port.text()));
        port.poll(now);
    }
    return {};
}

Error request_failure(const Port& port, transport::Status status) {
    const bool silent = status == transport::Status::retry_exceeded || status == transport::Status::rnr_retry_exceeded;
    return {EIO, fmt::format("{}: a message failed: {}{}", port.text(), text(status),
                             silent ? "; is the other end gone?" : "")};
}

bool ProgressWatch::moves(std::uint64_t progress, Time now) {
    if (changed_ == 0 || progress != last_) last_ = progress, changed_ = now;
    return now - changed_ < patience;
}

}  // namespace verbline::rdma_bench
