// SPDX-License-Identifier: BSD-3-Clause
#include "control/cm/session.h"

#include <algorithm>
#include <utility>

#include "control/cm/manager.h"

namespace verbline::cm {

Session::~Session() {
    manager_.timers().cancel(*this, id_);
}

void Session::take_half_open(Shares::Slot share) {
    const std::lock_guard lock(mutex_);
    place_ = Place::half_open;
    share_ = share;
}

void Session::attach(const EndpointPointer& handle) {
    const std::lock_guard lock(mutex_);
    handle_ = handle;
}

void Session::prefetch(const void* session) noexcept {
    constexpr std::size_t cache_line = 64, needed = sizeof(Session) - sizeof(Machine);
    for (std::size_t i = 0; i < needed; i += cache_line) __builtin_prefetch(static_cast<const std::byte*>(session) + i);
}

bool Session::takes(const ReceivedMessage& req) const {
    const std::lock_guard lock(mutex_);
    const auto* const connection = std::get_if<Connection>(&machine_);
    return connection != nullptr &&
           (open(connection->state()) || (connection->state() != ConnectionState::idle && connection->repeats(req)));
}

/// Releases the lock.
void Session::notify(std::unique_lock<std::mutex>& lock) {
    if (std::exchange(ready_reported_, true)) return lock.unlock();
    const auto handle = handle_.lock();
    lock.unlock();
    if (handle) manager_.ready(*handle);
}

void Session::push(const mad::GmpPeer& from, const ReceivedMessage& message, Time now) {
    std::unique_lock lock(mutex_);
    if (abandoned_ && listens_) return manager_.count(Count::rx_dropped_unexpected, id_);
    if (inbox_.size() >= (listens_ ? backlog_size : inbox_size)) {
        return manager_.count(listens_ ? Count::rx_dropped_backlog_full : Count::rx_dropped_inbox_full, id_);
    }
    inbox_.emplace_back(from, message);
    if (!abandoned_) return notify(lock);
    Actions actions(manager_, id_);
    run_all(actions, now);
    lock.unlock();
    actions.carry_out(now);
    retire_if_over();
}

void Session::due(Time now) {
    std::unique_lock lock(mutex_);
    armed_for_ = 0;
    if (!abandoned_) {
        // A wheel may fire early if callers' clocks differ: re-arm then.
        if (machine_due(now)) return notify(lock);
        Actions actions(manager_, id_);
        return settle(actions, now);
    }
    Actions actions(manager_, id_);
    run_all(actions, now);
    lock.unlock();
    actions.carry_out(now);
    retire_if_over();
}

void Session::mark_stale(const mad::GmpPeer* by, Time now) {
    std::unique_lock lock(mutex_);
    const auto* const connection = std::get_if<Connection>(&machine_);
    if (by != nullptr && connection != nullptr && !connection->from_peer(*by)) {
        return manager_.count(Count::rx_dropped_stranger, id_);
    }
    stale_ = true;
    if (!abandoned_) return notify(lock);
    Actions actions(manager_, id_);
    run_all(actions, now);
    lock.unlock();
    actions.carry_out(now);
    retire_if_over();
}

void Session::abandon(Time now) {
    Fifo<EndpointEvent> events;  // may hold endpoints: destroyed after the lock is released
    {
        std::unique_lock lock(mutex_);
        Actions actions(manager_, id_);
        // Pending input is processed, though its events are dropped.
        run_all(actions, now);
        abandoned_ = true;
        if (auto* const connection = std::get_if<Connection>(&machine_)) connection->abandon(now, actions);
        if (auto* const sidr = std::get_if<Sidr>(&machine_)) sidr->abandon(now, actions);
        if (std::holds_alternative<Listener>(machine_)) state_ = ConnectionState::idle;
        settle(actions, now);
        close_within_limits(actions, now);
        events = std::exchange(events_, {});
        inbox_.clear();
        lock.unlock();
        actions.carry_out(now);
    }
    retire_if_over();
}

void Session::retire_if_over() {
    if (over()) manager_.retire(*this);
}

}  // namespace verbline::cm
