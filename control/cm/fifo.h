// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A FIFO queue in one array, with amortized O(1) pops (erasing a std::vector's front is O(n)). An empty queue frees
/// its memory, so idle endpoints hold none.
///
/// For one thread at a time.

#include <cstddef>
#include <utility>
#include <vector>

namespace verbline::cm {

template <class T>
class Fifo {
public:
    bool empty() const { return size() == 0; }
    std::size_t size() const { return items_.size() - first_; }
    T& front() { return items_[first_]; }

    template <class... Arguments>
    T& emplace_back(Arguments&&... arguments) {
        if (items_.size() == items_.capacity() && first_ >= size()) move_up();
        return items_.emplace_back(std::forward<Arguments>(arguments)...);
    }
    T pop_front() {
        T taken = std::move(items_[first_++]);
        if (empty()) clear();
        return taken;
    }
    void clear() {
        items_ = std::vector<T>();
        first_ = 0;
    }

private:
    /// At least half of the array is behind us: that pays for moving the rest.
    void move_up() {
        items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(first_));
        first_ = 0;
    }

    std::vector<T> items_;
    std::size_t first_ = 0;  ///< index of the front; earlier elements were popped
};

}  // namespace verbline::cm
