// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/objects/queue_pair.h"

#include <algorithm>
#include <utility>

#include "apps/libibverbs/abi/convert.h"
#include "apps/libibverbs/objects/retired_handles.h"

namespace verbline::verbs {
namespace {

using transport::QueuePairType;

Result<QueuePairType> type_of(ibv_qp_type type) {
    switch (type) {
        case IBV_QPT_RC: return QueuePairType::rc;
        case IBV_QPT_UC: return QueuePairType::uc;
        case IBV_QPT_UD: return QueuePairType::ud;
        case IBV_QPT_XRC_SEND: return QueuePairType::xrc_initiator;
        case IBV_QPT_XRC_RECV: return QueuePairType::xrc_target;
        default: return failure(EOPNOTSUPP, "the device has no queue pairs of this type");
    }
}

/// Which of the functions of ibv_qp_ex a type has.
std::uint64_t send_operations(QueuePairType type) {
    constexpr std::uint64_t sends = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
    constexpr std::uint64_t writes = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
    constexpr std::uint64_t local = IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW;
    constexpr std::uint64_t reliable = IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
                                       IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_SEND_WITH_INV |
                                       IBV_QP_EX_WITH_ATOMIC_WRITE;
    switch (type) {
        case QueuePairType::ud: return sends;
        case QueuePairType::uc: return sends | writes | local;
        case QueuePairType::rc:
        case QueuePairType::xrc_initiator: return sends | writes | local | reliable;
        case QueuePairType::xrc_target: return 0;
    }
    return 0;
}

Result<void> check_capabilities(const ibv_qp_cap& cap) {
    const bool fits = cap.max_send_wr <= limits::work_requests && cap.max_recv_wr <= limits::work_requests &&
                      cap.max_send_sge <= limits::segments && cap.max_recv_sge <= limits::segments &&
                      cap.max_inline_data <= limits::inline_bytes;
    if (!fits) return failure(EINVAL, "size of the queues");
    return {};
}

Result<QueuePairParts> parts_of(const ibv_qp_init_attr_ex& attributes, QueuePairType type) {
    const auto mask = attributes.comp_mask;
    constexpr std::uint32_t known =
        IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD | IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    if ((mask & ~known) != 0) return failure(EOPNOTSUPP, "attributes that no queue pair of the device has");
    if ((mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) != 0 && attributes.create_flags != 0) {
        return failure(EOPNOTSUPP, "flags");
    }
    if ((mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0 && (attributes.send_ops_flags & ~send_operations(type)) != 0) {
        return failure(EOPNOTSUPP, "the device has no such operations on queue pairs of this type");
    }
    QueuePairParts parts;
    if (type == QueuePairType::xrc_target) {
        if ((mask & IBV_QP_INIT_ATTR_XRCD) == 0 || attributes.xrcd == nullptr)
            return failure(EINVAL, "an XRC target needs a domain");
        parts.xrc = &XrcDomain::of(attributes.xrcd);
        return parts;
    }
    if ((mask & IBV_QP_INIT_ATTR_PD) == 0 || attributes.pd == nullptr) return failure(EINVAL, "no protection domain");
    parts.domain = &ProtectionDomain::of(attributes.pd);
    if (attributes.send_cq == nullptr) return failure(EINVAL, "no completion queue");
    parts.send_queue = &CompletionQueue::of(attributes.send_cq);
    if (type == QueuePairType::xrc_initiator) return parts;
    if (attributes.recv_cq == nullptr) return failure(EINVAL, "no completion queue");
    parts.receive_queue = &CompletionQueue::of(attributes.recv_cq);
    if (attributes.srq != nullptr) parts.shared = &SharedReceiveQueue::of(attributes.srq);
    return parts;
}

rdma::QueuePairOptions native_options(QueuePairType type, const ibv_qp_init_attr_ex& attributes,
                                      const QueuePairParts& parts) {
    const auto& cap = attributes.cap;
    return {.type = type,
            .pd = parts.domain != nullptr ? parts.domain->id() : memory::PdId{},
            .send_completions = parts.send_queue != nullptr ? &parts.send_queue->native() : nullptr,
            .receive_completions = parts.receive_queue != nullptr ? &parts.receive_queue->native() : nullptr,
            // A queue cannot have zero entries: the minimum.
            .send = {.requests = std::max(cap.max_send_wr, 1u),
                     .segments = std::max(cap.max_send_sge, 1u),
                     .inline_bytes = cap.max_inline_data},
            .receive = {.requests = std::max(cap.max_recv_wr, 1u), .segments = std::max(cap.max_recv_sge, 1u)},
            .shared = parts.shared != nullptr ? &parts.shared->native() : nullptr,
            .xrc_domain = parts.xrc != nullptr ? &parts.xrc->native() : nullptr,
            .signal_all = attributes.sq_sig_all != 0};
}

/// Reports the granted capacities to the program.
void grant(ibv_qp_cap& cap, QueuePairType type, const rdma::QueuePairOptions& options, const rdma::QueuePair& native) {
    if (type == QueuePairType::xrc_target) {
        cap = {};
        return;
    }
    const auto& send = native.send_limits();
    cap.max_send_wr = send.requests;
    cap.max_send_sge = std::min<std::uint32_t>(send.segments, limits::segments);
    cap.max_inline_data = send.inline_bytes;
    cap.max_recv_wr = cap.max_recv_sge = 0;
    if (options.shared != nullptr || type == QueuePairType::xrc_initiator) return;
    const auto& receive = native.receive_limits();
    cap.max_recv_wr = receive.requests;
    cap.max_recv_sge = receive.segments;
}

template <class Change>
void each_user_count(const QueuePairParts& parts, Change change) {
    if (parts.domain != nullptr) change(parts.domain->users);
    if (parts.send_queue != nullptr) change(parts.send_queue->users);
    if (parts.receive_queue != nullptr) change(parts.receive_queue->users);
    if (parts.shared != nullptr) change(parts.shared->users);
    if (parts.xrc != nullptr) change(parts.xrc->users);
}

}  // namespace

VerbsQueuePair::VerbsQueuePair(Context& context, const ibv_qp_init_attr_ex& attributes, const QueuePairParts& parts,
                               std::unique_ptr<rdma::QueuePair> native)
    : hold_(context), parts_(parts), native_(std::move(native)) {
    handle_.object = this;
    auto& abi = handle_.abi.qp_base;
    abi.context = context.abi();
    abi.qp_context = attributes.qp_context;
    // Unused by an XRC target, but librdmacm reads it for the queues that it creates next.
    abi.pd = (attributes.comp_mask & IBV_QP_INIT_ATTR_PD) != 0 ? attributes.pd : nullptr;
    abi.send_cq = parts.send_queue != nullptr ? parts.send_queue->abi() : nullptr;
    abi.recv_cq = parts.receive_queue != nullptr ? parts.receive_queue->abi() : nullptr;
    abi.srq = parts.shared != nullptr ? parts.shared->abi() : nullptr;
    abi.qp_num = abi.handle = static_cast<std::uint32_t>(native_->qpn());
    abi.state = IBV_QPS_RESET;
    abi.qp_type = attributes.qp_type;
    pthread_mutex_init(&abi.mutex, nullptr);
    pthread_cond_init(&abi.cond, nullptr);
    made_with_ = {.qp_context = abi.qp_context,
                  .send_cq = abi.send_cq,
                  .recv_cq = abi.recv_cq,
                  .srq = abi.srq,
                  .cap = attributes.cap,
                  .qp_type = abi.qp_type,
                  .sq_sig_all = attributes.sq_sig_all};
    attributes_.cap = attributes.cap;
    attributes_.path_mig_state = IBV_MIG_MIGRATED;
    attributes_.port_num = 1;
    if ((attributes.comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0) {
        builder_.emplace(*native_, attributes.qp_type, attributes.cap);
        set_work_operations(handle_.abi);
    }
    const auto identity = VerbsPort::identity(native_->qpn());
    try {
        context.add(*this);
        context.port().listen(identity, this, [this](const auto& event) { notify(event); });
        if (abi.qp_type == IBV_QPT_UD) RetiredHandles::get().add(*native_);
    } catch (...) {  // no memory: undo the registrations
        context.port().stop_listening(identity, this);
        context.remove(*this);
        throw;
    }
    each_user_count(parts_, [](auto& users) { ++users; });
}

Result<VerbsQueuePair*> VerbsQueuePair::create(Context& context, ibv_qp_init_attr_ex& attributes) {
    if (!context.alive()) return failure(EIO, "the context is that of a parent process");
    const auto type = type_of(attributes.qp_type);
    if (!type) return std::unexpected(type.error());
    if (auto fits = check_capabilities(attributes.cap); !fits) return std::unexpected(fits.error());
    const auto parts = parts_of(attributes, *type);
    if (!parts) return std::unexpected(parts.error());
    const auto options = native_options(*type, attributes, *parts);
    auto native = parts->shared_domain() != nullptr ? context.port().xrc().create(*parts->shared_domain())
                                                    : context.device().create_queue_pair(options);
    if (!native) return std::unexpected(native.error());
    grant(attributes.cap, *type, options, **native);
    return new VerbsQueuePair(context, attributes, *parts, std::move(*native));
}

Result<VerbsQueuePair*> VerbsQueuePair::open(Context& context, const ibv_qp_open_attr& attributes) {
    if (!context.alive()) return failure(EIO, "the context is that of a parent process");
    constexpr std::uint32_t needed = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
    if ((attributes.comp_mask & needed) != needed || attributes.comp_mask >= IBV_QP_OPEN_ATTR_RESERVED ||
        attributes.qp_type != IBV_QPT_XRC_RECV || attributes.xrcd == nullptr) {
        return failure(EINVAL, "XRC targets are opened by domain, number and type");
    }
    auto& domain = XrcDomain::of(attributes.xrcd);
    const wire::Qpn number{attributes.qp_num};
    auto native = domain.shared() != nullptr ? context.port().xrc().open(*domain.shared(), number)
                                             : context.device().open_xrc_target(domain.native(), number);
    if (!native) return std::unexpected(native.error());
    const bool has_context = (attributes.comp_mask & IBV_QP_OPEN_ATTR_CONTEXT) != 0;
    const ibv_qp_init_attr_ex made_with{.qp_context = has_context ? attributes.qp_context : nullptr,
                                        .qp_type = IBV_QPT_XRC_RECV};
    return new VerbsQueuePair(context, made_with, {.xrc = &domain}, std::move(*native));
}

VerbsQueuePair::~VerbsQueuePair() {
    auto& opened = context();
    const auto qpn = native_->qpn();
    opened.remove(*this);
    if (handle_.abi.qp_base.qp_type == IBV_QPT_UD) RetiredHandles::get().remove(*native_);
    native_.reset();
    close_shared();
    opened.port().stop_listening(VerbsPort::identity(qpn), this);
    if (parts_.send_queue != nullptr) parts_.send_queue->purge(qpn);
    if (parts_.receive_queue != nullptr) parts_.receive_queue->purge(qpn);
    opened.events().forget(abi());
    each_user_count(parts_, [](auto& users) { --users; });
    pthread_cond_destroy(&handle_.abi.qp_base.cond);
    pthread_mutex_destroy(&handle_.abi.qp_base.mutex);
}

void VerbsQueuePair::silence() {
    if (parts_.shared_domain() != nullptr) return close_shared();
    if (!native_->shared()) native_->reset();
}

/// Gives the handle of a target that other programs may share back to the node.
void VerbsQueuePair::close_shared() {
    const auto* const domain = parts_.shared_domain();
    if (domain == nullptr || std::exchange(closed_, true)) return;
    context().port().xrc().close(*domain, wire::Qpn{abi()->qp_num});
}

void VerbsQueuePair::notify(const transport::AsyncEvent& reported) {
    if (reported.kind == transport::AsyncEventKind::send_queue_drained && attributes_.en_sqd_async_notify == 0) return;
    ibv_async_event event{};
    event.event_type = to_event_type(reported.kind);
    event.element.qp = abi();
    context().events().push(event);
}

ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* attributes) {
    return made([&] -> Result<VerbsQueuePair*> { return VerbsQueuePair::create(Context::of(context), *attributes); },
                &VerbsQueuePair::abi);
}

ibv_qp* open_qp(ibv_context* context, ibv_qp_open_attr* attributes) {
    return made([&] -> Result<VerbsQueuePair*> { return VerbsQueuePair::open(Context::of(context), *attributes); },
                &VerbsQueuePair::abi);
}

extern "C" {

ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* attributes) {
    if (pd == nullptr) return errno = EINVAL, nullptr;
    ibv_qp_init_attr_ex extended{.qp_context = attributes->qp_context,
                                 .send_cq = attributes->send_cq,
                                 .recv_cq = attributes->recv_cq,
                                 .srq = attributes->srq,
                                 .cap = attributes->cap,
                                 .qp_type = attributes->qp_type,
                                 .sq_sig_all = attributes->sq_sig_all,
                                 .comp_mask = IBV_QP_INIT_ATTR_PD,
                                 .pd = pd};
    auto* const pair = create_qp_ex(pd->context, &extended);
    if (pair != nullptr) attributes->cap = extended.cap;
    return pair;
}

ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* qp) {
    return VerbsQueuePair::of(qp).extended();
}

int ibv_query_qp(ibv_qp* qp, ibv_qp_attr* attributes, int /*mask*/, ibv_qp_init_attr* made_with) {
    if (!Context::of(qp->context).alive()) return EIO;
    VerbsQueuePair::of(qp).query(*attributes, *made_with);
    return 0;
}

int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attributes, int mask) {
    return done([&] { return VerbsQueuePair::of(qp).modify(*attributes, mask); });
}

int ibv_destroy_qp(ibv_qp* qp) {
    if (!Context::of(qp->context).alive()) return 0;
    auto& pair = VerbsQueuePair::of(qp);
    if (pair.attached()) return EBUSY;
    delete &pair;
    return 0;
}

// Enhanced connection establishment (ECE) is vendor-specific.
int ibv_query_ece(ibv_qp*, ibv_ece*) {
    return errno = EOPNOTSUPP;
}
int ibv_set_ece(ibv_qp*, ibv_ece* ece) {
    // This device has no ECE options: vendor id 0.
    return ece->vendor_id == 0 ? 0 : (errno = EOPNOTSUPP);
}

// Payload is written in order, packet by packet, but a retransmission may overtake a delayed packet.
int ibv_query_qp_data_in_order(ibv_qp*, ibv_wr_opcode, std::uint32_t) {
    return 0;
}

}  // extern "C"

}  // namespace verbline::verbs
