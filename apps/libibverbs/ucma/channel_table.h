// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Maps the program's descriptors to channels. A lookup is one load: every write and close of the program makes one.
///
/// Threads: any, signal handlers included. The table does not own the channels: a returned pointer may dangle unless
/// the caller owns the channel.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace verbline::verbs {

class EventChannel;

class ChannelTable {
public:
    static constexpr int capacity = 1 << 16;  ///< descriptors from here on cannot be channels

    /// True also while the channel is being closed.
    bool contains(int descriptor) const noexcept { return load(descriptor) != nullptr; }
    /// Returns null if the descriptor is no channel or is being closed.
    EventChannel* find(int descriptor) const noexcept {
        auto* const found = load(descriptor);
        return found == closing_mark() ? nullptr : found;
    }
    bool is_closing(int descriptor) const noexcept { return load(descriptor) == closing_mark(); }
    void put(int descriptor, EventChannel& channel) noexcept {
        slots_[static_cast<std::size_t>(descriptor)].store(&channel, std::memory_order_release);
        auto end = end_.load(std::memory_order_relaxed);
        while (end <= descriptor && !end_.compare_exchange_weak(end, descriptor + 1)) {}
    }
    /// Removes the entry. Returns null if there was none, or another thread has taken it first.
    EventChannel* take(int descriptor) noexcept {
        if (!in_range(descriptor)) return nullptr;
        auto* const was = slots_[static_cast<std::size_t>(descriptor)].exchange(nullptr, std::memory_order_acq_rel);
        return was == closing_mark() ? nullptr : was;
    }
    /// Like `take`, but until `end_closing` the number is marked as a channel that is being closed: our file is still
    /// behind it, and the program must not see it.
    EventChannel* begin_closing(int descriptor) noexcept {
        auto* channel = find(descriptor);
        if (channel == nullptr) return nullptr;
        auto& slot = slots_[static_cast<std::size_t>(descriptor)];
        return slot.compare_exchange_strong(channel, closing_mark()) ? channel : nullptr;
    }
    void end_closing(int descriptor) noexcept {
        auto* mark = closing_mark();
        slots_[static_cast<std::size_t>(descriptor)].compare_exchange_strong(mark, nullptr);
    }
    /// The lowest descriptor >= `from` that is a channel; `capacity` if there is none.
    int next(int from) const noexcept {
        const int end = end_.load(std::memory_order_relaxed);
        for (from = std::max(from, 0); from < end; ++from)
            if (contains(from)) return from;
        return capacity;
    }

    static bool in_range(int descriptor) noexcept { return descriptor >= 0 && descriptor < capacity; }

private:
    /// Sentinel: no channel has this address.
    static EventChannel* closing_mark() noexcept { return reinterpret_cast<EventChannel*>(std::uintptr_t{1}); }
    EventChannel* load(int descriptor) const noexcept {
        if (!in_range(descriptor)) return nullptr;
        return slots_[static_cast<std::size_t>(descriptor)].load(std::memory_order_acquire);
    }

    std::array<std::atomic<EventChannel*>, capacity> slots_{};
    std::atomic<int> end_{0};  ///< above every descriptor ever put
};

}  // namespace verbline::verbs
