// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/objects/completion_queue.h"

#include <algorithm>

#include "apps/libibverbs/abi/convert.h"
#include "apps/libibverbs/objects/limits.h"

namespace verbline::verbs {

CompletionQueue::CompletionQueue(Context& context, const ibv_cq_init_attr_ex& attributes) : hold_(context) {
    handle_.object = this;
    auto& abi = handle_.abi;
    abi.context = context.abi();
    abi.channel = attributes.channel;
    abi.cq_context = attributes.cq_context;
    pthread_mutex_init(&abi.mutex, nullptr);
    pthread_cond_init(&abi.cond, nullptr);
    set_extended_polling(abi, attributes.wc_flags);
    if (attributes.channel != nullptr) channel_ = &CompletionChannel::of(attributes.channel);
    if ((attributes.comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) != 0 && attributes.parent_domain != nullptr) {
        parent_domain_ = &ProtectionDomain::of(attributes.parent_domain);
    }
    native_ = context.device().create_cq(attributes.cqe, [this] {
        if (channel_ != nullptr) channel_->push(*this);
    });
    abi.cqe = static_cast<int>(native_->capacity());
    context.port().listen(VerbsPort::identity(native_.get()), this, [this](const transport::AsyncEvent&) {
        ibv_async_event event{};
        event.event_type = IBV_EVENT_CQ_ERR;
        event.element.cq = this->abi();
        this->context().events().push(event);
    });
    // Last: where there is no memory, it has not been made.
    if (channel_ != nullptr) ++channel_->users;
    if (parent_domain_ != nullptr) ++parent_domain_->users;
}

Result<CompletionQueue*> CompletionQueue::create(Context& context, const ibv_cq_init_attr_ex& attributes) {
    if (!context.alive()) return failure(EIO, "the context is that of a parent process");
    if (attributes.cqe == 0 || attributes.cqe > static_cast<std::uint32_t>(limits::completions)) {
        return failure(EINVAL, "number of completions");
    }
    if (attributes.comp_vector >= static_cast<std::uint32_t>(context.abi()->num_comp_vectors)) {
        return failure(EINVAL, "completion vector");
    }
    return new CompletionQueue(context, attributes);
}

CompletionQueue::~CompletionQueue() {
    context().port().stop_listening(VerbsPort::identity(native_.get()), this);
    context().events().forget(abi());
    if (channel_ != nullptr) --channel_->users;
    if (parent_domain_ != nullptr) --parent_domain_->users;
    pthread_cond_destroy(&handle_.abi.cond);
    pthread_mutex_destroy(&handle_.abi.mutex);
}

std::size_t CompletionQueue::take(std::span<transport::Completion> out) noexcept {
    auto n = native_->poll(out);
    if (n != 0) return n;
    context().progress().drive();
    return native_->poll(out);
}

std::size_t CompletionQueue::take_all(std::span<ibv_wc> out) noexcept {
    std::array<transport::Completion, most> taken;
    std::size_t filled = 0;
    const std::scoped_lock lock(lock_);
    while (filled < out.size()) {
        const auto wanted = std::span(taken).first(std::min(out.size() - filled, most));
        const auto n = filled == 0 ? take(wanted) : native_->poll(wanted);
        for (const auto& completion : wanted.first(n)) out[filled++] = to_wc(completion);
        if (n < wanted.size()) break;
    }
    return filled;
}

int CompletionQueue::poll(std::span<ibv_wc> out) noexcept {
    if (!context().alive()) return 0;  // the thread that held the lock may not exist in the child
    auto filled = take_all(out);
    if (filled == 0 && !out.empty() && context().progress().idle()) filled = take_all(out);
    if (filled != 0) context().progress().linger();
    return static_cast<int>(filled);
}

bool CompletionQueue::has_completions() noexcept {
    if (!lock_.try_lock()) return true;  // another thread is polling
    const std::scoped_lock lock(std::adopt_lock, lock_);
    return native_->size() != 0;
}

void CompletionQueue::arm(bool solicited_only) noexcept {
    native_->arm(solicited_only ? transport::CompletionQueue::Armed::solicited
                                : transport::CompletionQueue::Armed::any);
    context().progress().leave();  // a thread that arms is about to sleep
}

Result<void> CompletionQueue::resize(int entries) {
    if (entries <= 0 || entries > limits::completions) return failure(EINVAL, "number of completions");
    const std::scoped_lock lock(lock_);
    auto resized = context().device().resize_cq(*native_, static_cast<std::uint32_t>(entries));
    handle_.abi.cqe = static_cast<int>(native_->capacity());
    return resized;
}

void CompletionQueue::purge(wire::Qpn qpn) noexcept {
    const std::scoped_lock lock(lock_);
    native_->purge(qpn);
}

void CompletionQueue::acknowledge(unsigned count) {
    auto& abi = handle_.abi;
    pthread_mutex_lock(&abi.mutex);
    abi.comp_events_completed += count;
    pthread_cond_signal(&abi.cond);
    pthread_mutex_unlock(&abi.mutex);
}

void CompletionQueue::await_acknowledged() {
    if (channel_ != nullptr) channel_->forget(*this);
    auto& abi = handle_.abi;
    pthread_mutex_lock(&abi.mutex);
    while (abi.comp_events_completed != events_read_.load(std::memory_order_relaxed)) {
        pthread_cond_wait(&abi.cond, &abi.mutex);
    }
    pthread_mutex_unlock(&abi.mutex);
}

ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attributes) {
    return made(
        [&] -> Result<CompletionQueue*> {
            constexpr std::uint64_t readable = std::uint64_t{IBV_WC_STANDARD_FLAGS} |
                                               IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
                                               IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
            constexpr std::uint32_t known = IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD;
            constexpr std::uint32_t flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED | IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
            if ((attributes->comp_mask & ~known) != 0 || (attributes->wc_flags & ~readable) != 0) {
                return failure(EOPNOTSUPP, "completions have no such field");
            }
            if ((attributes->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) != 0 && (attributes->flags & ~flags) != 0) {
                return failure(EOPNOTSUPP, "flags");
            }
            return CompletionQueue::create(Context::of(context), *attributes);
        },
        &CompletionQueue::extended);
}

/// Moderation is accepted and ignored: events are raised at the end of a polling round, which covers many completions.
int modify_cq(ibv_cq*, ibv_modify_cq_attr* attributes) {
    return attributes->attr_mask == IBV_CQ_ATTR_MODERATE ? 0 : EOPNOTSUPP;
}

int poll_cq(ibv_cq* cq, int count, ibv_wc* out) {
    return CompletionQueue::of(cq).poll({out, static_cast<std::size_t>(std::max(count, 0))});
}

int req_notify_cq(ibv_cq* cq, int solicited_only) {
    CompletionQueue::of(cq).arm(solicited_only != 0);
    return 0;
}

extern "C" {

ibv_cq* ibv_create_cq(ibv_context* context, int entries, void* cq_context, ibv_comp_channel* channel, int vector) {
    return made(
        [&] -> Result<CompletionQueue*> {
            const ibv_cq_init_attr_ex attributes{.cqe = static_cast<std::uint32_t>(std::max(entries, 0)),
                                                 .cq_context = cq_context,
                                                 .channel = channel,
                                                 .comp_vector = static_cast<std::uint32_t>(vector)};
            return CompletionQueue::create(Context::of(context), attributes);
        },
        &CompletionQueue::abi);
}

int ibv_resize_cq(ibv_cq* cq, int entries) {
    if (!Context::of(cq->context).alive()) return EIO;
    return done([&] { return CompletionQueue::of(cq).resize(entries); });
}

int ibv_destroy_cq(ibv_cq* cq) {
    if (!Context::of(cq->context).alive()) return 0;
    auto& queue = CompletionQueue::of(cq);
    if (queue.users != 0) return EBUSY;
    queue.await_acknowledged();
    delete &queue;
    return 0;
}

}  // extern "C"

}  // namespace verbline::verbs
