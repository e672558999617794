// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// DCQCN, the reaction point (RP): a queue pair's sending rate, controlled by the CNPs it receives.
///
/// Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015, section 3. Each notification cuts
/// the current rate and keeps the previous rate as the target. A timer and a byte counter then raise it:
///
///     rounds of timer or bytes      the target                 the current rate
///     fewer than F                  stays (fast recovery)      half way to the target
///     more, of one or both          + R_AI (additive)          "
///     more than F of both           + R_HAI (hyper)            "
///
/// The depth of a cut depends on alpha, the moving average of marked intervals. When the rate is back at line rate, the
/// limit ends and all state is reset: the next notification is treated as a new flow's first, as in the paper.
///
/// Pure: time is the caller's. A queue pair without a limit costs one branch per packet. Timer and byte counter are
/// evaluated lazily, by `advance` and `sent`. One thread.

#include <cstdint>
#include <optional>

#include "pmd/base/time.h"

namespace verbline::congestion {

/// Shared by all queue pairs of a port, and must outlive them. Defaults are the paper's unless noted.
struct DcqcnParameters {
    std::uint64_t line_rate_bps = 100'000'000'000;  ///< of the port; bits per second, as all rates
    std::uint64_t min_rate_bps = 10'000'000;        ///< ours: a 4 KB packet every 3.3 ms, well below any ACK timeout
    std::uint64_t additive_bps = 40'000'000;        ///< R_AI
    std::uint64_t hyper_bps = 400'000'000;          ///< R_HAI: ours; ten times R_AI, as in QCN (IEEE 802.1Qau)
    double gain = 1.0 / 256;                        ///< g
    Time alpha_interval = 55 * microsecond;         ///< K: alpha decays once for each such interval without a
                                                    ///< notification
    Time increase_interval = 55 * microsecond;      ///< T: one round of the timer
    std::uint32_t increase_bytes = 10'000'000;      ///< B: one round of the byte counter
    std::uint8_t fast_recovery_rounds = 5;          ///< F
};

class Dcqcn {
public:
    explicit Dcqcn(const DcqcnParameters& parameters) : parameters_(&parameters) {}

    /// A congestion notification packet arrived for this queue pair.
    void cnp(Time now) noexcept;

    /// Reports a sent packet of `bytes` bytes.
    void sent(std::uint32_t bytes, Time now) noexcept {
        if (limited_) [[unlikely]]
            count(bytes, now);
    }

    /// Updates the rate to `now`. How often it is called affects only the value that `rate_bps` returns.
    void advance(Time now) noexcept {
        if (limited_ && now >= increase_at_) run(now);
    }

    /// The rate in bits per second, as of the last call with a time; the line rate if not limited.
    std::uint64_t rate_bps() const {
        return limited_ ? static_cast<std::uint64_t>(current_) : parameters_->line_rate_bps;
    }
    bool limited() const { return limited_; }
    /// When the rate next rises by itself; none while unlimited.
    std::optional<Time> deadline() const { return limited_ ? std::optional(increase_at_) : std::nullopt; }

    /// The share of marked intervals, 0 to 1, as the next notification would find it.
    double alpha(Time now) const noexcept;

private:
    void count(std::uint32_t bytes, Time now) noexcept;
    void run(Time now) noexcept;
    void increase() noexcept;

    const DcqcnParameters* parameters_;
    double current_ = 0, target_ = 0;                 ///< bits per second, while limited
    Time cnp_at_ = 0;                                 ///< the last notification; alpha decays since
    Time increase_at_ = 0;                            ///< when the round of the timer ends
    float alpha_ = 1;                                 ///< at `cnp_at_`
    std::uint32_t bytes_ = 0;                         ///< in this round of the byte counter
    std::uint8_t time_rounds_ = 0, byte_rounds_ = 0;  ///< since the last notification; they stop at 255
    bool limited_ = false;
};
static_assert(sizeof(Dcqcn) <= 64, "one cache line: there is one in every queue pair");

}  // namespace verbline::congestion
