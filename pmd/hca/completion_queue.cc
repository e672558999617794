// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/hca/completion_queue.h"

#include <array>
#include <cerrno>
#include <utility>

#include <fcntl.h>

#include "pmd/hca/refusal.h"

namespace verbline::pmd::hca {

Result<CompletionQueue> CompletionQueue::create(const Verbs& verbs, ibv_context& context, std::uint32_t depth,
                                                Waited waited) {
    CompletionQueue made(verbs);
    if (waited == Waited::yes) {
        made.channel_ = {verbs.create_comp_channel(&context), {verbs.destroy_comp_channel}};
        if (!made.channel_) return cannot(context, "make a completion channel", verbs.error());
        const int flags = fcntl(made.channel_->fd, F_GETFL);
        if (flags < 0 || fcntl(made.channel_->fd, F_SETFL, flags | O_NONBLOCK) != 0)
            return cannot(context, "read a completion channel without waiting", errno);
    }
    made.queue_ = {verbs.create_cq(&context, static_cast<int>(depth), nullptr, made.channel_.get(), 0),
                   {verbs.destroy_cq}};
    if (!made.queue_) return cannot(context, "make a completion queue", verbs.error());
    return made;
}

void CompletionQueue::drain() const noexcept {
    std::array<ibv_wc, 64> stale;
    while (poll(*queue_, static_cast<int>(stale.size()), stale.data()) > 0) {}
}

void CompletionQueue::want_event(bool wanted) noexcept {
    if (!channel_) return;
    if (wanted) {
        if (queue_->context->ops.req_notify_cq(queue_.get(), 0) == 0) armed_ = true;
    } else if (std::exchange(armed_, false)) {
        take_events();
    }
}

void CompletionQueue::take_events() noexcept {
    ibv_cq* queue = nullptr;
    void* context = nullptr;
    unsigned count = 0;
    while (verbs_->get_cq_event(channel_.get(), &queue, &context) == 0) ++count;
    if (count > 0) verbs_->ack_cq_events(queue_.get(), count);
}

}  // namespace verbline::pmd::hca
