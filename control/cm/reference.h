// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Intrusive reference counting. A Reference is one word, so that a cache line holds four table slots.
///
/// Thread safety: as std::shared_ptr, which is two words.

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace verbline::cm {

template <class T>
class Reference;

/// Base class of reference-counted objects.
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

/// The last reference deletes the object, which must have been created by `make`.
template <class T>
class Reference {
public:
    Reference() = default;
    template <class... Arguments>
    static Reference make(Arguments&&... arguments) {
        return Reference(std::make_unique<T>(std::forward<Arguments>(arguments)...).release(), 1);
    }
    /// Adds a reference to an object that the caller knows to be alive.
    static Reference to(T* thing) noexcept { return Reference(thing, thing == nullptr ? 0 : 1); }
    /// The same, or empty if the count is zero and the object is being deleted.
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
        // Acquire: the deleter sees all writes of the other owners.
        if (thing_ != nullptr && thing_->references_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
            std::default_delete<T>()(thing_);
        }
    }

    T* get() const { return thing_; }
    T& operator*() const { return *thing_; }
    T* operator->() const { return thing_; }
    explicit operator bool() const { return thing_ != nullptr; }
    bool operator==(const Reference&) const = default;

    /// Gives up ownership of the count, to be taken back by `adopt`: for slots in plain memory.
    T* release() noexcept { return std::exchange(thing_, nullptr); }
    static Reference adopt(T* thing) noexcept { return Reference(thing, 0); }

private:
    Reference(T* thing, std::uint32_t more) noexcept : thing_(thing) {
        if (more != 0) thing_->references_.fetch_add(more, std::memory_order_relaxed);
    }

    T* thing_ = nullptr;
};

}  // namespace verbline::cm
