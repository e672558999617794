// SPDX-License-Identifier: BSD-3-Clause
// What the control thread does with a device: it lets packets flow, and finds and ends failures.
#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "pmd/base/clock.h"
#include "pmd/base/tunables.h"
#include "pmd/hca/hca.h"

namespace verbline::pmd {

/// What an adapter that was opened now has of its own.
void Hca::learn() {
    end_ = DatagramEnd{adapter_->number(), adapter_->facts().gid};
    spread_ = adapter_->spread() != nullptr ? std::optional(*adapter_->spread()) : std::nullopt;
    segments_.store(adapter_->max_tso() > 0, std::memory_order_relaxed);
    if (adapter_->spread_error()) counters_.receive_spread_errors.add();
    if (adapter_->segmentation_error()) counters_.segmentation_errors.add();
}

Result<void> Hca::up() {
    is_up_ = true;
    if (adapter_ && identity_) return restart();
    return {};
}

void Hca::down() {
    is_up_ = false;
    close_gate();
    if (adapter_) adapter_->stop();
}

/// From now on no thread is in the adapter, which is in `adapter_` if there is one.
void Hca::close_gate() {
    for (auto& event : events_) event.store(-1, std::memory_order_relaxed);
    if (running_ == nullptr) return;
    adapter_ = gate_.set(nullptr);
    running_ = nullptr;
}

/// Sets the queue pairs up, and lets packets flow.
Result<void> Hca::restart() {
    close_gate();
    auto started = adapter_->start(*identity_);
    if (!started) {
        adapter_->stop();
        return started;
    }
    for (std::uint16_t i = 0; i < adapter_->receive_queues(); ++i)
        events_[i].store(adapter_->receiver(i)->event(), std::memory_order_relaxed);
    counters_.flow_rule_errors.add(adapter_->refused_rules());
    running_ = adapter_.get();
    gate_.set(std::move(adapter_));
    return {};
}

void Hca::lose() {
    counters_.device_losses.add();
    close_gate();
    adapter_.reset();
    next_attempt_ = 0;
}

/// Looks for a device that is gone. True: it is open again, perhaps with another number of its queue pair.
bool Hca::reopen() {
    const auto now = options_.clock != nullptr ? options_.clock() : monotonic_now();
    if (now < next_attempt_) return false;
    next_attempt_ = now + tunables::hca_reopen_period;
    auto opened = open();
    if (!opened || !check(**opened)) return false;
    adapter_ = std::move(*opened);
    learn();
    counters_.device_returns.add();
    for (const auto& match : taken_) {
        if (!adapter_->take(match)) counters_.flow_rule_errors.add();
    }
    for (const auto& group : groups_) {
        if (adapter_->attach(group)) counters_.multicast_errors.add();
    }
    if (is_up_ && identity_ && !restart()) counters_.queue_pair_reset_errors.add();
    return true;
}

void Hca::count(const hca::Events& events) {
    counters_.queue_pair_events.add(events.queue_pairs);
    counters_.port_events.add(events.port);
}

bool Hca::link_up() {
    if (adapter() == nullptr) {
        reopen();
        return false;  // for once, so that those above learn that the queue pair is another
    }
    const auto events = adapter()->events();
    count(events);
    if (events.lost || !adapter()->refresh()) {
        lose();
        return false;
    }
    end_ = DatagramEnd{adapter()->number(), adapter()->facts().gid};
    const bool active = adapter()->facts().active();
    if (!is_up_ || !identity_ || !active) return is_up_ && active;
    const bool must_restart =
        !adapter()->running() || adapter()->failed() || events.queue_pair || adapter()->outdated(*identity_);
    if (!must_restart) return true;
    if (adapter()->running()) counters_.queue_pair_resets.add();
    if (restart()) return true;
    counters_.queue_pair_reset_errors.add();
    if (adapter()->has_pkey(identity_->pkey)) lose();
    return false;
}

std::error_code Hca::set_identity(const Identity& identity) {
    if (identity_ == identity && running_ != nullptr) return {};
    identity_ = identity;
    if (adapter() == nullptr || !is_up_) return {};
    const auto started = restart();
    return started ? std::error_code() : std::error_code(started.error().code, std::generic_category());
}

Result<void> Hca::take(std::vector<hca::FlowMatch> matches) {
    if (options_.beside.empty()) return failure(EINVAL, fmt::format("{} works beside no interface", name_));
    const auto before = std::exchange(taken_, std::move(matches));
    if (adapter() == nullptr) return {};
    Result<void> all;
    for (const auto& match : before) {
        if (std::ranges::find(taken_, match) == taken_.end()) adapter()->leave(match);
    }
    for (const auto& match : taken_) {
        auto done = adapter()->take(match);
        if (done) continue;
        counters_.flow_rule_errors.add();
        all = std::move(done);
    }
    return all;
}

std::error_code Hca::attach_multicast(const MulticastAddress& group) {
    const auto same = [&](const auto& each) { return each.mgid == group.mgid && each.mlid == group.mlid; };
    if (std::ranges::none_of(groups_, same)) groups_.push_back(group);
    if (adapter() == nullptr) return {};
    const auto error = adapter()->attach(group);
    if (error) counters_.multicast_errors.add();
    return error;
}

std::error_code Hca::detach_multicast(const MulticastAddress& group) {
    std::erase_if(groups_, [&](const auto& each) { return each.mgid == group.mgid && each.mlid == group.mlid; });
    return adapter() == nullptr ? std::error_code() : adapter()->detach(group);
}

}  // namespace verbline::pmd
