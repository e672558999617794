// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/transport/inbound_message.h"

#include <utility>

#include "datapath/link/part.h"
#include "datapath/memory/guarded.h"
#include "datapath/transport/payload.h"

namespace verbline::transport {

bool InboundMessage::well_formed(const Packet& packet, const QueuePairContext& qp, bool in_progress) noexcept {
    const auto& traits = *packet.traits;
    const auto size = packet.payload.size();
    if (traits.first == in_progress) return false;
    if (!traits.last) return size == qp.mtu();
    return size <= qp.mtu() && (traits.first || size > 0);
}

SharedReceiveQueue* InboundMessage::named_queue(const Packet& packet, const QueuePairContext& qp) noexcept {
    if (qp.xrc_queues == nullptr) return nullptr;
    const auto number = link::part_at<wire::XrcEth>(packet.headers).get<&wire::XrcEth::srq>();
    return qp.xrc_queues->find(qp.xrc_domain, number);
}

memory::PdId InboundMessage::domain_of(const Packet& packet, const QueuePairContext& qp) noexcept {
    if (qp.service != Service::xrc) return qp.pd;
    const auto* const shared = named_queue(packet, qp);
    return shared != nullptr ? shared->pd : qp.pd;
}

InboundMessage::Source InboundMessage::source_for(const Packet& packet, QueuePairContext& qp) noexcept {
    auto* shared = qp.shared;
    if (qp.service == Service::xrc) {
        shared = named_queue(packet, qp);
        if (shared == nullptr) return {};
        return {&shared->queue, shared->completions, shared, shared->pd};
    }
    if (shared != nullptr) return {&shared->queue, qp.receive_completions, shared, shared->pd};
    return {&qp.receive_queue, qp.receive_completions, nullptr, qp.pd};
}

bool InboundMessage::take(const Packet& packet, QueuePairContext& qp, PollContext& context) noexcept {
    if (work_ != nullptr) return true;  // held since an unreliable message was cut short
    source_ = source_for(packet, qp);
    if (source_.queue == nullptr) return false;
    work_ = source_.queue->take();
    if (work_ == nullptr) return false;
    if (source_.shared != nullptr && source_.queue->limit_reached()) {
        context.emit({.kind = AsyncEventKind::srq_limit_reached, .srq = source_.shared});
    }
    return true;
}

Outcome InboundMessage::accept(const Packet& packet, QueuePairContext& qp, PollContext& context) noexcept {
    const auto& traits = *packet.traits;
    if (!well_formed(packet, qp, in_progress())) return Outcome::invalid_request;
    if (!traits.first && traits.operation != kind_) return Outcome::invalid_request;

    const bool needs_receive = traits.operation == Operation::send ? traits.first : traits.immediate;
    if (needs_receive) {
        // Only a packet that takes a receive request must name an existing queue.
        const bool xrc = qp.service == Service::xrc;
        if (xrc && source_for(packet, qp).queue == nullptr) return Outcome::invalid_request;
        if (!take(packet, qp, context)) return Outcome::no_receive;
    }

    if (traits.first) {
        received_ = 0;
        if (traits.operation == Operation::write) {
            if (const auto outcome = begin_write(packet, qp, context); outcome != Outcome::accepted) return outcome;
        }
        kind_ = traits.operation;
    }
    if (received_ + packet.payload.size() > max_message) return Outcome::invalid_request;
    const auto outcome = kind_ == Operation::send ? place_send(packet, qp, context) : place_write(packet, qp, context);
    if (outcome != Outcome::accepted) return outcome;
    received_ += packet.payload.size();
    return traits.last ? finish(packet, qp, context) : Outcome::accepted;
}

Outcome InboundMessage::begin_write(const Packet& packet, const QueuePairContext& qp,
                                    const PollContext& context) noexcept {
    const auto reth = link::part_at<wire::Reth>(packet.after_xrceth());
    if (!memory::has(qp.access, memory::Access::remote_write)) return Outcome::invalid_request;
    address_ = reth.get<&wire::Reth::address>();
    rkey_ = reth.get<&wire::Reth::rkey>();
    length_ = reth.get<&wire::Reth::length>();
    if (length_ > max_message) return Outcome::invalid_request;
    if (packet.traits->last ? length_ != packet.payload.size() : length_ <= packet.payload.size()) {
        return Outcome::invalid_request;
    }
    // Check the whole range now, so that a message that must fail writes nothing. Zero bytes need no key (IBTA
    // 9.7.4.1.3).
    if (length_ != 0 &&
        !context.keys.resolve(rkey_, domain_of(packet, qp), qp.qpn, address_, length_, memory::Access::remote_write)) {
        return Outcome::remote_access;
    }
    return Outcome::accepted;
}

Outcome InboundMessage::place_write(const Packet& packet, const QueuePairContext& qp,
                                    const PollContext& context) noexcept {
    const auto size = packet.payload.size();
    const auto after = received_ + size;
    if (packet.traits->last ? after != length_ : after >= length_) return Outcome::invalid_request;
    if (size == 0) return Outcome::accepted;
    const auto to = context.keys.resolve(rkey_, domain_of(packet, qp), qp.qpn, address_ + received_, size,
                                         memory::Access::remote_write);
    if (!to || !memory::guarded_copy(*to, packet.payload.data(), size)) return Outcome::remote_access;
    return Outcome::accepted;
}

Outcome InboundMessage::place_send(const Packet& packet, QueuePairContext& qp, PollContext& context) noexcept {
    const auto status = scatter(work_->segment_list(), received_, packet.payload, source_.pd, qp.qpn, context.keys);
    if (status == Status::success) return Outcome::accepted;
    abandon(qp, context, status);
    return status == Status::local_length_error ? Outcome::local_length : Outcome::local_protection;
}

Outcome InboundMessage::finish(const Packet& packet, QueuePairContext& qp, PollContext& context) noexcept {
    const auto& traits = *packet.traits;
    const auto kind = std::exchange(kind_, Operation::none);
    if (kind == Operation::write && !traits.immediate) return Outcome::accepted;

    // Immediate data and keys are the last header.
    const auto tail = traits.immediate || traits.invalidate ? wire::load32(packet.headers.last<4>(), 0) : 0;
    if (traits.invalidate && !context.keys.invalidate(static_cast<wire::RKey>(tail), domain_of(packet, qp), qp.qpn)) {
        complete_receive(qp, context, [](Completion& c) { c.status = Status::local_access_error; });
        return Outcome::remote_access;
    }
    complete_receive(qp, context, [&](Completion& completion) {
        if (kind == Operation::write) completion.kind = CompletionKind::receive_write_with_immediate;
        if (traits.immediate) completion.flags = Completion::has_immediate;
        if (traits.invalidate) completion.flags = Completion::has_invalidated;
        completion.immediate = tail;
        completion.length = static_cast<std::uint32_t>(received_);
        completion.solicited = packet.solicited;
    });
    return Outcome::accepted;
}

template <class Fill>
void InboundMessage::complete_receive(const QueuePairContext& qp, PollContext& context, Fill&& fill) noexcept {
    // Give the request back first: the user, in another thread, may post again as soon as it sees the completion.
    const auto id = work_->id;
    source_.queue->give_back(*std::exchange(work_, nullptr));
    context.complete(*source_.completions, [&](Completion& completion) {
        completion.id = id;
        completion.kind = CompletionKind::receive;
        completion.qpn = qp.qpn;
        completion.source = qp.remote;
        completion.pkey_index = qp.pkey_index;
        fill(completion);
    });
}

void InboundMessage::abandon(QueuePairContext& qp, PollContext& context, Status status) noexcept {
    kind_ = Operation::none;
    if (work_ == nullptr) return;
    if (status == Status::success) {
        source_.queue->give_back(*std::exchange(work_, nullptr));
        return;
    }
    complete_receive(qp, context, [status](Completion& completion) { completion.status = status; });
}

void InboundMessage::forget(const SharedReceiveQueue& queue) noexcept {
    if (source_.shared != &queue) return;
    if (work_ != nullptr) kind_ = Operation::none;
    work_ = nullptr;
    source_ = {};
}

}  // namespace verbline::transport
