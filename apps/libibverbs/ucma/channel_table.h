// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Which of the program's descriptors is which channel. Asked at every write and close of the program, and answered by
/// one load.
///
/// Threads: any, signal handlers included. It owns no channel, and what it answers may be gone for anybody but its
/// owner.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace verbline::verbs {

class Channel;

class ChannelTable {
public:
    static constexpr int capacity = 1 << 16;  ///< no descriptor above that can be a channel

    /// Also while it is being closed.
    bool contains(int descriptor) const noexcept { return load(descriptor) != nullptr; }
    /// Null: it is none, or is being closed.
    Channel* find(int descriptor) const noexcept {
        auto* const found = load(descriptor);
        return found == closing_mark() ? nullptr : found;
    }
    bool is_closing(int descriptor) const noexcept { return load(descriptor) == closing_mark(); }
    void put(int descriptor, Channel& channel) noexcept {
        slots_[static_cast<std::size_t>(descriptor)].store(&channel, std::memory_order_release);
        auto end = end_.load(std::memory_order_relaxed);
        while (end <= descriptor && !end_.compare_exchange_weak(end, descriptor + 1)) {}
    }
    /// Null: it was none, or somebody was faster.
    Channel* take(int descriptor) noexcept {
        if (!in_range(descriptor)) return nullptr;
        auto* const was = slots_[static_cast<std::size_t>(descriptor)].exchange(nullptr, std::memory_order_acq_rel);
        return was == closing_mark() ? nullptr : was;
    }
    /// The same, but until `end_closing` the number is known to be a channel's that is being closed: what is behind it
    /// is our file still, of which the program must see nothing.
    Channel* begin_closing(int descriptor) noexcept {
        auto* channel = find(descriptor);
        if (channel == nullptr) return nullptr;
        auto& slot = slots_[static_cast<std::size_t>(descriptor)];
        return slot.compare_exchange_strong(channel, closing_mark()) ? channel : nullptr;
    }
    void end_closing(int descriptor) noexcept {
        auto* mark = closing_mark();
        slots_[static_cast<std::size_t>(descriptor)].compare_exchange_strong(mark, nullptr);
    }
    /// The first descriptor from `from` on that is a channel; `capacity`: none.
    int next(int from) const noexcept {
        const int end = end_.load(std::memory_order_relaxed);
        for (from = std::max(from, 0); from < end; ++from)
            if (contains(from)) return from;
        return capacity;
    }

    static bool in_range(int descriptor) noexcept { return descriptor >= 0 && descriptor < capacity; }

private:
    /// No channel is at this address.
    static Channel* closing_mark() noexcept { return reinterpret_cast<Channel*>(std::uintptr_t{1}); }
    Channel* load(int descriptor) const noexcept {
        if (!in_range(descriptor)) return nullptr;
        return slots_[static_cast<std::size_t>(descriptor)].load(std::memory_order_acquire);
    }

    std::array<std::atomic<Channel*>, capacity> slots_{};
    std::atomic<int> end_{0};  ///< above all that ever were
};

}  // namespace verbline::verbs
