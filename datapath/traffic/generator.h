// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Sends generated frames by one queue of a device.
///
///     poll ── due? (Pacer) ── buffers ── FrameWriter ── staged ── tx_burst ──> device
///                                                         └── what it does not take is sent first by the next poll

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>

#include "datapath/congestion/pacer.h"
#include "datapath/traffic/cycle_clock.h"
#include "datapath/traffic/frame_writer.h"
#include "datapath/traffic/pace.h"
#include "datapath/traffic/task.h"
#include "pmd/netdev.h"

struct rte_mempool;

namespace verbline::traffic {

#define VERBLINE_GENERATOR_COUNTERS(X)                             \
    X(tx_packets, "frames that the device took")                   \
    X(tx_bytes, "their bytes, with the FCS")                       \
    X(tx_device_full, "times that the device took fewer than all") \
    X(tx_no_buffers, "times that no packet buffer was free")

struct GeneratorCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_GENERATOR_COUNTERS)
};

struct GeneratorSettings {
    FlowSlice flows;
    std::uint8_t run = 0, stream = 0;  ///< of the stamp
    std::uint16_t burst = 32;          ///< frames sent back to back
    std::optional<Rate> rate;          ///< of this queue; none: as fast as the device takes them
    Time catch_up = 0;                 ///< a poll that is late by up to this, or by a burst, makes up for it
    std::uint64_t frames = std::numeric_limits<std::uint64_t>::max();  ///< to send in all
};

/// A pool whose buffers hold zeros: frames are then complete once their heads are written, and longer ones cost no more
/// than short ones. Nobody on the way of a frame may leave something else in its payload. Null, and rte_errno: as
/// pmd::make_packet_pool.
rte_mempool* make_frame_pool(const char* name, unsigned frames, std::uint32_t largest_frame, int socket);
/// Makes them zeros again, for a generator of other frames: ICRCs lie behind the heads. None of them is on its way.
void clear_frames(rte_mempool& pool);

class Generator final : public Task {
public:
    /// Template, device and pool (make_frame_pool) outlive the generator.
    Generator(pmd::NetDevice& device, std::uint16_t queue, rte_mempool& pool, const FrameTemplate& frames,
              const GeneratorSettings& settings);
    ~Generator() override;  ///< frees what the device has not taken

    bool poll() noexcept override;
    /// From now on polls only send what the device itself holds back. Any thread.
    void stop() noexcept { stopped_.store(true, std::memory_order_relaxed); }
    /// Whether all frames of the settings have been sent. Any thread.
    bool done() const { return counters_.tx_packets.value() >= settings_.frames; }
    const GeneratorCounters& counters() const { return counters_; }

private:
    bool may_send() noexcept;
    bool fill() noexcept;
    bool send() noexcept;

    pmd::NetDevice& device_;
    rte_mempool& pool_;
    GeneratorSettings settings_;
    FrameWriter writer_;
    congestion::Pacer pacer_;
    std::uint64_t pacer_rate_ = 0;
    CycleClock clock_;
    std::uint64_t left_;  ///< frames to be written
    std::array<rte_mbuf*, pmd::max_burst> staged_{};
    std::uint16_t next_ = 0, end_ = 0;  ///< of those staged
    std::uint16_t queue_;
    std::atomic<bool> stopped_{false};
    GeneratorCounters counters_;
};

}  // namespace verbline::traffic
