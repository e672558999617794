// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A decorator that copies a device's received frames, and those it accepted for sending, to a capture file.

#include <functional>
#include <memory>
#include <vector>

#include "pmd/capture/capture_file.h"
#include "pmd/decorator.h"

namespace verbline::pmd {

#define VERBLINE_CAPTURE_COUNTERS(X)                \
    X(captured, "frames given to the capture file") \
    X(capture_dropped, "frames not captured because too many were waiting to be written")

struct CaptureCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_CAPTURE_COUNTERS)
};

class CapturedDevice : public Decorator {
public:
    using Clock = std::function<Time()>;  ///< nanoseconds since 1970 (UTC)

    /// `file` must outlive the device. `name` is the interface's name in the file.
    CapturedDevice(std::shared_ptr<NetDevice> device, std::string name, CaptureFile& file, Clock clock);
    /// Takes the place of `before`, with whose device `device` has all in common but its decorators: goes on in its
    /// file, as its interface there, with its counters. Of each queue one of both may be in use at a time.
    CapturedDevice(std::shared_ptr<NetDevice> device, const CapturedDevice& before);

    std::uint16_t rx_burst(std::uint16_t queue, Burst burst) noexcept override;
    std::uint16_t tx_burst(std::uint16_t queue, Burst burst) noexcept override;
    void counters(const CounterVisitor& visit) const override;

private:
    struct alignas(64) Lane {
        CaptureCounters counters;
    };
    using Lanes = std::vector<Lane>;

    void add(Lane& lane, pcapng::Direction direction, Time time, rte_mbuf* copy) noexcept;

    CaptureFile& file_;
    CaptureFile::Source source_;
    Clock clock_;
    std::shared_ptr<Lanes> lanes_;  ///< receivers by queue, then transmitters by queue
};

}  // namespace verbline::pmd
