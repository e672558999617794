// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Any device, with a copy of each frame going to a capture file: what it received, and what it accepted for sending.

#include <functional>
#include <memory>
#include <vector>

#include "pmd/capture/capture_file.h"
#include "pmd/netdev.h"

namespace verbline::pmd {

#define VERBLINE_CAPTURE_COUNTERS(X)                \
    X(captured, "frames given to the capture file") \
    X(capture_dropped, "frames not captured because too many were waiting to be written")

struct CaptureCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_CAPTURE_COUNTERS)
};

class CapturedDevice : public NetDevice {
public:
    using Clock = std::function<Time()>;  ///< nanoseconds since 1970 (UTC)

    /// `file` outlives the device. `name` is the interface's in the file.
    CapturedDevice(std::unique_ptr<NetDevice> inner, std::string name, CaptureFile& file, Clock clock);

    std::string_view name() const override { return inner_->name(); }
    const Capabilities& capabilities() const override { return inner_->capabilities(); }
    std::optional<wire::MacAddress> mac() const override { return inner_->mac(); }
    std::optional<RssTable> rss() const override { return inner_->rss(); }
    Result<void> up() override { return inner_->up(); }
    void down() override { inner_->down(); }
    bool link_up() override { return inner_->link_up(); }
    std::uint16_t rx_burst(std::uint16_t queue, Burst burst) noexcept override;
    std::uint16_t tx_burst(std::uint16_t queue, Burst burst) noexcept override;
    int rx_event(std::uint16_t queue) const noexcept override { return inner_->rx_event(queue); }
    void want_rx_event(std::uint16_t queue, bool wanted) noexcept override { inner_->want_rx_event(queue, wanted); }
    std::error_code set_identity(const Identity& identity) override { return inner_->set_identity(identity); }
    std::error_code attach_multicast(const MulticastAddress& group) override { return inner_->attach_multicast(group); }
    std::error_code detach_multicast(const MulticastAddress& group) override { return inner_->detach_multicast(group); }
    void counters(const CounterVisitor& visit) const override;

private:
    struct alignas(64) Lane {
        CaptureCounters counters;
    };

    void add(Lane& lane, pcapng::Direction direction, Time time, rte_mbuf* copy) noexcept;

    std::unique_ptr<NetDevice> inner_;
    CaptureFile& file_;
    CaptureFile::Source source_;
    Clock clock_;
    std::vector<Lane> lanes_;  ///< receivers by queue, then transmitters by queue
};

}  // namespace verbline::pmd
