// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/objects/retired_handles.h"

#include <utility>

namespace verbline::verbs {

RetiredHandles& RetiredHandles::get() {
    static auto* const retired = new RetiredHandles;
    return *retired;
}

void RetiredHandles::add(const rdma::QueuePair& sender) {
    const std::scoped_lock lock(mutex_);
    senders_.insert(&sender);
}

void RetiredHandles::remove(const rdma::QueuePair& sender) {
    const std::scoped_lock lock(mutex_);
    senders_.erase(&sender);
    for (auto& each : kept_) each.marks.erase(&sender);
}

void RetiredHandles::add(std::unique_ptr<AddressHandle> handle) {
    const std::scoped_lock lock(mutex_);
    auto& last = kept_.emplace_back(Kept{std::move(handle), {}});
    for (const auto* const sender : senders_) {
        const auto mark = sender->mark();
        if (!sender->through(mark)) last.marks.emplace(sender, mark);
    }
    sweep();
}

std::size_t RetiredHandles::kept() {
    const std::scoped_lock lock(mutex_);
    sweep();
    return kept_.size();
}

/// Marks only grow: if one handle must wait, so must all after it.
void RetiredHandles::sweep() {
    const auto through = [](const auto& entry) { return entry.first->through(entry.second); };
    for (; !kept_.empty(); kept_.pop_front()) {
        auto& marks = kept_.front().marks;
        std::erase_if(marks, through);
        if (!marks.empty()) return;
    }
}

}  // namespace verbline::verbs
