// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/objects/async_events.h"

#include <cerrno>

namespace verbline::verbs {
namespace {

/// The object that an event names; null for events of the port.
const void* element_of(const ibv_async_event& event) {
    switch (event.event_type) {
        case IBV_EVENT_CQ_ERR: return event.element.cq;
        case IBV_EVENT_QP_FATAL:
        case IBV_EVENT_QP_REQ_ERR:
        case IBV_EVENT_QP_ACCESS_ERR:
        case IBV_EVENT_COMM_EST:
        case IBV_EVENT_SQ_DRAINED:
        case IBV_EVENT_PATH_MIG:
        case IBV_EVENT_PATH_MIG_ERR:
        case IBV_EVENT_QP_LAST_WQE_REACHED: return event.element.qp;
        case IBV_EVENT_SRQ_ERR:
        case IBV_EVENT_SRQ_LIMIT_REACHED: return event.element.srq;
        default: return nullptr;
    }
}

}  // namespace

void AsyncEvents::push(const ibv_async_event& event) {
    const std::scoped_lock lock(mutex_);
    if (!unread_) return;  // closed
    waiting_.push_back(event);
    unread_.post();
}

int AsyncEvents::get(ibv_async_event& event) {
    for (;;) {
        const bool counted = unread_.wait();
        if (!counted && errno != EBADF) return -1;
        const std::scoped_lock lock(mutex_);
        // EBADF: the device was lost with its descriptors; its queued events can still be read.
        if (!counted && waiting_.empty()) return errno = EBADF, -1;
        if (waiting_.empty()) continue;  // it was removed meanwhile
        event = waiting_.front();
        waiting_.pop_front();
        if (const auto* const element = element_of(event)) ++read_[element];
        return 0;
    }
}

void AsyncEvents::acknowledge(const ibv_async_event& event) {
    const auto* const element = element_of(event);
    if (element == nullptr) return;
    const std::scoped_lock lock(mutex_);
    const auto found = read_.find(element);
    if (found == read_.end()) return;
    if (--found->second == 0) read_.erase(found);
    acknowledged_.notify_all();
}

void AsyncEvents::close() {
    const std::scoped_lock lock(mutex_);
    unread_ = {};
    waiting_.clear();
    read_.clear();
    acknowledged_.notify_all();
}

void AsyncEvents::forget(const void* element) {
    std::unique_lock lock(mutex_);
    std::erase_if(waiting_, [element](const auto& event) { return element_of(event) == element; });
    acknowledged_.wait(lock, [&] { return !read_.contains(element); });
}

}  // namespace verbline::verbs
