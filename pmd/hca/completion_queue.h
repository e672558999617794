// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A completion queue, and where it is waited for, the channel on which it tells of its next completion.

#include <cstdint>

#include "pmd/base/error.h"
#include "pmd/hca/verbs.h"

namespace verbline::pmd::hca {

enum class Waited : std::uint8_t { no, yes };

class CompletionQueue {
public:
    static Result<CompletionQueue> create(const Verbs& verbs, ibv_context& context, std::uint32_t depth, Waited waited);

    ibv_cq& handle() const { return *queue_; }
    /// Takes what completed before the queue's users were reset. While nobody polls.
    void drain() const noexcept;

    int event() const noexcept { return channel_ ? channel_->fd : -1; }
    /// As NetDevice::want_rx_event.
    void want_event(bool wanted) noexcept;

private:
    explicit CompletionQueue(const Verbs& verbs) : verbs_(&verbs) {}
    void take_events() noexcept;

    const Verbs* verbs_;
    // In the order of their creation.
    Owned<ibv_comp_channel> channel_;
    Owned<ibv_cq> queue_;
    bool armed_ = false;
};

}  // namespace verbline::pmd::hca
