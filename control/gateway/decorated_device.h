// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The device of a port's link, and what is around it: an impairment, and above that captures, which thus record what
/// this process sends and receives.
///
///     shards, counters ──> [own capture] ──> [capture of all ports] ──> [impairment] ──> device <── control thread
///
/// Decorators come and go while shards poll. A new stack is made around the same device, the shards change to it by a
/// command (router::SetDevice), and the old stack goes when all have. With none the shards use the device itself.

#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "control/router/shard_links.h"
#include "pmd/capture/capture.h"
#include "pmd/capture/capture_file.h"
#include "pmd/impair/impair.h"
#include "pmd/netdev.h"

namespace verbline::gateway {

/// Owned by the control thread; no shard may use it when it is destroyed.
class DecoratedDevice {
public:
    /// `name`: of the device's frames in captures. `all`: the capture of all ports, which outlives it; may be null.
    DecoratedDevice(std::string name, std::shared_ptr<pmd::NetDevice> device, pmd::CaptureFile* all);
    DecoratedDevice(const DecoratedDevice&) = delete;
    DecoratedDevice& operator=(const DecoratedDevice&) = delete;
    ~DecoratedDevice();

    /// For all but packets.
    pmd::NetDevice& device() const { return *device_; }
    /// For packets and counters. Another one after any change below.
    pmd::NetDevice& decorated() const { return *top_; }

    /// Where shards are told of changes.
    struct Shards {
        router::ShardLinks& links;
        forward::InterfaceId port{};
    };
    // Without `shards` none has the device yet.

    /// Begins an impairment, or changes it; none: ends it. What is held back leaves when it was to, in any case.
    void impair(const std::optional<pmd::ImpairSpec>& spec, const std::optional<Shards>& shards = std::nullopt);
    /// Records to `file` as well, and no longer to the one before, which is complete once `upkeep` has closed it; null:
    /// to none.
    void capture(std::unique_ptr<pmd::CaptureFile> file, const std::optional<Shards>& shards = std::nullopt);
    /// Writes what was captured, and removes what no shard uses any more. Call a few times a second.
    void upkeep(const Shards& shards);

    /// The own capture; null: none.
    pmd::CaptureFile* file() const { return file_.get(); }
    /// Stacks that some shard may still use.
    std::size_t retired() const { return retired_.size(); }

private:
    struct Retired {
        std::shared_ptr<pmd::CaptureFile> file;  ///< outlives the devices above it
        std::shared_ptr<pmd::NetDevice> top;
        std::unique_ptr<std::atomic<std::size_t>> left;
    };

    void stack();
    void replace(const std::optional<Shards>& shards, std::shared_ptr<pmd::CaptureFile> old_file);

    std::string name_;
    std::shared_ptr<pmd::NetDevice> device_;
    std::shared_ptr<pmd::ImpairedDevice> impaired_;  ///< null: not impaired
    bool impairment_ends_ = false;                   ///< it is to go when it holds nothing back any more
    pmd::CaptureFile* all_;
    std::shared_ptr<pmd::CaptureFile> file_;
    std::shared_ptr<pmd::CapturedDevice> all_captured_, captured_;
    std::shared_ptr<pmd::NetDevice> top_;
    std::deque<Retired> retired_;
};

}  // namespace verbline::gateway
