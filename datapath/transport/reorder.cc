// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/transport/reorder.h"

#include <rte_mbuf.h>

namespace verbline::transport {

void ReorderWindow::clear() noexcept {
    for (auto& kept : kept_) {
        if (count_ == 0) return;
        if (kept.mbuf == nullptr) continue;
        rte_pktmbuf_free(std::exchange(kept.mbuf, nullptr));
        --count_;
    }
}

ReorderWindow* ReorderPool::borrow() {
    if (free_.empty()) {
        if (all_.size() == windows_limit_) return nullptr;
        all_.push_back(std::make_unique<ReorderWindow>());  // at the first losses of a shard, never again
        free_.reserve(all_.size());
        return all_.back().get();
    }
    auto* const window = free_.back();
    free_.pop_back();
    return window;
}

void ReorderPool::give_back(ReorderWindow* window) noexcept {
    released(window->count());
    window->clear();
    free_.push_back(window);
}

}  // namespace verbline::transport
