// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Zero-initialized, cache-line aligned array for tables that may grow large. The kernel supplies pages of large arrays
/// on first touch, so doubling a table does not stall; huge pages are used where available, to save TLB misses.

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

namespace verbline::cm {

class ZeroedMemory {
public:
    ZeroedMemory() = default;
    /// Throws std::bad_alloc.
    explicit ZeroedMemory(std::size_t bytes);
    ZeroedMemory(ZeroedMemory&& other) noexcept
        : at_(std::exchange(other.at_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
    ZeroedMemory& operator=(ZeroedMemory other) noexcept {
        std::swap(at_, other.at_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~ZeroedMemory();

    void* get() const { return at_; }

private:
    void* at_ = nullptr;
    std::size_t bytes_ = 0;
};

/// `T`: trivially copyable and destructible; all-zero bytes must be a valid value.
template <class T>
class ZeroedArray {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

public:
    ZeroedArray() = default;
    explicit ZeroedArray(std::size_t count) : memory_(count * sizeof(T)), size_(count) {}
    ZeroedArray(ZeroedArray&& other) noexcept
        : memory_(std::move(other.memory_)), size_(std::exchange(other.size_, 0)) {}
    ZeroedArray& operator=(ZeroedArray other) noexcept {
        memory_ = std::move(other.memory_);
        size_ = std::exchange(other.size_, 0);
        return *this;
    }
    ~ZeroedArray() = default;

    T* data() const { return static_cast<T*>(memory_.get()); }
    std::size_t size() const { return size_; }
    T& operator[](std::size_t index) { return data()[index]; }
    const T& operator[](std::size_t index) const { return data()[index]; }

private:
    ZeroedMemory memory_;
    std::size_t size_ = 0;
};

}  // namespace verbline::cm
