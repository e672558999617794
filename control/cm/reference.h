// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Things that count who refers to them, in themselves: a reference is one word, so that a table has four of its slots
/// in a cache line.
///
/// Threads: as std::shared_ptr, which also keeps what it refers to alive, and is two words.

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace verbline::cm {

template <class T>
class Reference;

/// A base of what is referred to.
class Counted {
public:
    Counted() = default;
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;

private:
    template <class T>
    friend class Reference;
    std::atomic<std::uint32_t> references_ = 0;
};

/// The last one that goes deletes it, which must have been made with `make`.
template <class T>
class Reference {
public:
    Reference() = default;
    template <class... Arguments>
    static Reference make(Arguments&&... arguments) {
        return Reference(std::make_unique<T>(std::forward<Arguments>(arguments)...).release(), 1);
    }
    /// To something that others refer to as well.
    static Reference to(T* thing) noexcept { return Reference(thing, thing == nullptr ? 0 : 1); }
    /// The same, unless its last reference has gone: then it is being deleted.
    static Reference unless_gone(T& thing) noexcept {
        auto count = thing.references_.load(std::memory_order_relaxed);
        while (count != 0) {
            if (thing.references_.compare_exchange_weak(count, count + 1, std::memory_order_acquire)) {
                return Reference(&thing, 0);
            }
        }
        return {};
    }

    Reference(const Reference& other) noexcept : Reference(other.thing_, other.thing_ == nullptr ? 0 : 1) {}
    Reference(Reference&& other) noexcept : thing_(std::exchange(other.thing_, nullptr)) {}
    Reference& operator=(Reference other) noexcept {
        std::swap(thing_, other.thing_);
        return *this;
    }
    ~Reference() {
        // Whoever deletes sees what the others have done to it.
        if (thing_ != nullptr && thing_->references_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
            std::default_delete<T>()(thing_);
        }
    }

    T* get() const { return thing_; }
    T& operator*() const { return *thing_; }
    T* operator->() const { return thing_; }
    explicit operator bool() const { return thing_ != nullptr; }
    bool operator==(const Reference&) const = default;

    /// Gives the count away, to be taken back by `adopt`: for slots that are plain memory.
    T* release() noexcept { return std::exchange(thing_, nullptr); }
    static Reference adopt(T* thing) noexcept { return Reference(thing, 0); }

private:
    Reference(T* thing, std::uint32_t more) noexcept : thing_(thing) {
        if (more != 0) thing_->references_.fetch_add(more, std::memory_order_relaxed);
    }

    T* thing_ = nullptr;
};

}  // namespace verbline::cm
