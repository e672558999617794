// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/objects/shared_receive_queue.h"

#include <array>

#include "apps/libibverbs/abi/work_request.h"
#include "apps/libibverbs/objects/limits.h"

namespace verbline::verbs {

SharedReceiveQueue::SharedReceiveQueue(ProtectionDomain& domain, void* srq_context,
                                       std::unique_ptr<rdma::SharedReceiveQueue> native, XrcDomain* xrc,
                                       CompletionQueue* completions)
    : domain_(domain), native_(std::move(native)), xrc_(xrc), completions_(completions) {
    handle_.object = this;
    auto& abi = handle_.abi;
    abi.context = domain.abi()->context;
    abi.srq_context = srq_context;
    abi.pd = domain.abi();
    pthread_mutex_init(&abi.mutex, nullptr);
    pthread_cond_init(&abi.cond, nullptr);
    context().port().listen(VerbsPort::identity(native_->id()), this, [this](const transport::AsyncEvent& reported) {
        ibv_async_event event{};
        event.event_type = to_event_type(reported.kind);
        event.element.srq = this->abi();
        this->context().events().push(event);
    });
    // Last: where there is no memory, it has not been made.
    ++domain_.users;
    if (xrc_ != nullptr) ++xrc_->users;
    if (completions_ != nullptr) ++completions_->users;
}

Result<SharedReceiveQueue*> SharedReceiveQueue::create(Context& context, ProtectionDomain& domain, void* srq_context,
                                                       ibv_srq_attr& attributes, XrcDomain* xrc,
                                                       CompletionQueue* completions) {
    if (!context.alive()) return failure(EIO, "the context is that of a parent process");
    if (attributes.max_wr == 0 || attributes.max_wr > limits::work_requests || attributes.max_sge > limits::segments) {
        return failure(EINVAL, "size of the queue");
    }
    auto native = context.device().create_shared_receive_queue(
        domain.id(), {.requests = attributes.max_wr, .segments = std::max(attributes.max_sge, 1u)},
        xrc != nullptr ? &xrc->native() : nullptr, completions != nullptr ? &completions->native() : nullptr);
    if (!native) return std::unexpected(native.error());
    auto* const queue = new SharedReceiveQueue(domain, srq_context, std::move(*native), xrc, completions);
    queue->query(attributes);
    return queue;
}

SharedReceiveQueue::~SharedReceiveQueue() {
    // First: until then an XRC queue, and with it the completion queue, may be in use.
    const auto identity = VerbsPort::identity(native_->id());
    native_.reset();
    context().port().stop_listening(identity, this);
    context().events().forget(abi());
    --domain_.users;
    if (xrc_ != nullptr) --xrc_->users;
    if (completions_ != nullptr) --completions_->users;
    pthread_cond_destroy(&handle_.abi.cond);
    pthread_mutex_destroy(&handle_.abi.mutex);
}

int SharedReceiveQueue::post(ibv_recv_wr* list, ibv_recv_wr** bad) noexcept {
    if (!context().alive()) return *bad = list, EIO;
    std::array<transport::Segment, limits::segments> room;
    const std::scoped_lock lock(lock_);
    for (; list != nullptr; list = list->next) {
        const auto request = to_receive_request(*list, room);
        int error = request ? 0 : request.error();
        if (request) {
            if (const auto posted = native_->post(*request); !posted) error = static_cast<int>(posted.error());
        }
        if (error != 0) {
            *bad = list;
            return error;
        }
    }
    return 0;
}

Result<void> SharedReceiveQueue::modify(const ibv_srq_attr& attributes, int mask) {
    if ((mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT)) != 0) return failure(EINVAL, "attributes");
    if ((mask & IBV_SRQ_MAX_WR) != 0) return failure(EOPNOTSUPP, "the device cannot resize shared receive queues");
    if ((mask & IBV_SRQ_LIMIT) != 0) {
        if (attributes.srq_limit > native_->limits().requests) return failure(EINVAL, "limit");
        native_->arm_limit(attributes.srq_limit);
    }
    return {};
}

void SharedReceiveQueue::query(ibv_srq_attr& attributes) const {
    attributes.max_wr = native_->limits().requests;
    attributes.max_sge = native_->limits().segments;
    attributes.srq_limit = native_->limit();
}

ibv_srq* create_srq_ex(ibv_context* context, ibv_srq_init_attr_ex* attributes) {
    return made(
        [&] -> Result<SharedReceiveQueue*> {
            const auto mask = attributes->comp_mask;
            constexpr std::uint32_t known =
                IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
            const auto type = (mask & IBV_SRQ_INIT_ATTR_TYPE) != 0 ? attributes->srq_type : IBV_SRQT_BASIC;
            if ((mask & ~known) != 0 || (type != IBV_SRQT_BASIC && type != IBV_SRQT_XRC)) {
                return failure(EOPNOTSUPP, "the device has no such shared receive queues");
            }
            if ((mask & IBV_SRQ_INIT_ATTR_PD) == 0 || attributes->pd == nullptr)
                return failure(EINVAL, "no protection domain");
            XrcDomain* xrc = nullptr;
            CompletionQueue* completions = nullptr;
            if (type == IBV_SRQT_XRC) {
                constexpr std::uint32_t needed = IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
                if ((mask & needed) != needed || attributes->xrcd == nullptr || attributes->cq == nullptr) {
                    return failure(EINVAL, "an XRC queue needs a domain and a completion queue");
                }
                xrc = &XrcDomain::of(attributes->xrcd);
                completions = &CompletionQueue::of(attributes->cq);
            }
            return SharedReceiveQueue::create(Context::of(context), ProtectionDomain::of(attributes->pd),
                                              attributes->srq_context, attributes->attr, xrc, completions);
        },
        &SharedReceiveQueue::abi);
}

int get_srq_num(ibv_srq* srq, std::uint32_t* number) {
    auto& queue = SharedReceiveQueue::of(srq);
    if (!queue.xrc()) return EINVAL;
    *number = queue.native().number();
    return 0;
}

int post_srq_recv(ibv_srq* srq, ibv_recv_wr* list, ibv_recv_wr** bad) {
    return SharedReceiveQueue::of(srq).post(list, bad);
}

extern "C" {

ibv_srq* ibv_create_srq(ibv_pd* pd, ibv_srq_init_attr* attributes) {
    return made(
        [&] -> Result<SharedReceiveQueue*> {
            auto& domain = ProtectionDomain::of(pd);
            return SharedReceiveQueue::create(domain.context(), domain, attributes->srq_context, attributes->attr,
                                              nullptr, nullptr);
        },
        &SharedReceiveQueue::abi);
}

int ibv_modify_srq(ibv_srq* srq, ibv_srq_attr* attributes, int mask) {
    if (!Context::of(srq->context).alive()) return EIO;
    return done([&] { return SharedReceiveQueue::of(srq).modify(*attributes, mask); });
}

int ibv_query_srq(ibv_srq* srq, ibv_srq_attr* attributes) {
    SharedReceiveQueue::of(srq).query(*attributes);
    return 0;
}

int ibv_destroy_srq(ibv_srq* srq) {
    if (!Context::of(srq->context).alive()) return 0;
    auto& queue = SharedReceiveQueue::of(srq);
    if (queue.users != 0) return EBUSY;
    delete &queue;
    return 0;
}

}  // extern "C"

}  // namespace verbline::verbs
