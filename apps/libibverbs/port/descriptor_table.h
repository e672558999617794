// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Maps the program's descriptors to open files of a device that is answered here (rdma_cm, umad). A lookup is one
/// load: every write and close of the program makes one for each such device.
///
/// Threads: any, signal handlers included. The table does not own the files: a returned pointer may dangle unless the
/// caller owns the file.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace verbline::verbs {

template <class File>
class DescriptorTable {
public:
    static constexpr int capacity = 1 << 16;  ///< descriptors from here on cannot be files of ours

    /// True also while the file is being closed.
    bool contains(int descriptor) const noexcept { return load(descriptor) != nullptr; }
    /// Returns null if the descriptor is no such file, or is being closed.
    File* find(int descriptor) const noexcept {
        auto* const found = load(descriptor);
        return found == closing_mark() ? nullptr : found;
    }
    bool is_closing(int descriptor) const noexcept { return load(descriptor) == closing_mark(); }
    void put(int descriptor, File& file) noexcept {
        slots_[static_cast<std::size_t>(descriptor)].store(&file, std::memory_order_release);
        auto end = end_.load(std::memory_order_relaxed);
        while (end <= descriptor && !end_.compare_exchange_weak(end, descriptor + 1)) {}
    }
    /// Removes the entry. Returns null if there was none, or another thread has taken it first.
    File* take(int descriptor) noexcept {
        if (!in_range(descriptor)) return nullptr;
        auto* const was = slots_[static_cast<std::size_t>(descriptor)].exchange(nullptr, std::memory_order_acq_rel);
        return was == closing_mark() ? nullptr : was;
    }
    /// Like `take`, but until `end_closing` the number is marked as one that is being closed: our file is still
    /// behind it, and the program must not see it.
    File* begin_closing(int descriptor) noexcept {
        auto* file = find(descriptor);
        if (file == nullptr) return nullptr;
        auto& slot = slots_[static_cast<std::size_t>(descriptor)];
        return slot.compare_exchange_strong(file, closing_mark()) ? file : nullptr;
    }
    void end_closing(int descriptor) noexcept {
        auto* mark = closing_mark();
        slots_[static_cast<std::size_t>(descriptor)].compare_exchange_strong(mark, nullptr);
    }
    /// The lowest descriptor >= `from` that is in the table; `capacity` if there is none.
    int next(int from) const noexcept {
        const int end = end_.load(std::memory_order_relaxed);
        for (from = std::max(from, 0); from < end; ++from)
            if (contains(from)) return from;
        return capacity;
    }

    static bool in_range(int descriptor) noexcept { return descriptor >= 0 && descriptor < capacity; }

private:
    /// Sentinel: no file has this address.
    static File* closing_mark() noexcept { return reinterpret_cast<File*>(std::uintptr_t{1}); }
    File* load(int descriptor) const noexcept {
        if (!in_range(descriptor)) return nullptr;
        return slots_[static_cast<std::size_t>(descriptor)].load(std::memory_order_acquire);
    }

    std::array<std::atomic<File*>, capacity> slots_{};
    std::atomic<int> end_{0};  ///< above every descriptor ever put
};

}  // namespace verbline::verbs
