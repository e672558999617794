// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/hca/queue_pair.h"

#include <algorithm>
#include <utility>

#include "pmd/base/tunables.h"
#include "pmd/hca/extended_verbs.h"
#include "pmd/hca/refusal.h"

namespace verbline::pmd::hca {

Result<std::unique_ptr<QueuePair>> QueuePair::create(const Setup& setup) {
    std::unique_ptr<QueuePair> made(new QueuePair(setup));
    if (auto done = made->create_completion_queues(); !done) return std::unexpected(done.error());
    if (auto done = made->create_queue_pair(); !done) return std::unexpected(done.error());
    return made;
}

QueuePair::~QueuePair() {
    stop();
}

Result<void> QueuePair::create_completion_queues() {
    const auto make = [&](std::optional<CompletionQueue>& out, std::uint32_t depth, Waited waited) -> Result<void> {
        auto made = CompletionQueue::create(setup_.verbs, setup_.context, depth, waited);
        if (!made) return std::unexpected(made.error());
        out.emplace(std::move(*made));
        return {};
    };
    if (setup_.receives) {
        if (auto done = make(received_, setup_.limits.receives, Waited::yes); !done) return done;
    }
    return make(sent_, setup_.limits.sends, Waited::no);
}

Result<void> QueuePair::create_queue_pair() {
    // Perhaps so much inline data does not fit into a request of this device.
    if (!try_to_create(tunables::hca_inline) && !try_to_create(0)) {
        const auto* const what =
            setup_.shared_number ? "make a UD queue pair that shares the kernel's number" : "make a UD queue pair";
        return cannot(setup_.context, what, setup_.verbs.error());
    }
    create_queues();
    return {};
}

bool QueuePair::try_to_create(std::uint32_t inline_size) {
    const auto& limits = setup_.limits;
    ibv_qp_init_attr_ex wanted{};
    wanted.send_cq = &sent_->handle();
    wanted.recv_cq = &(setup_.receives ? received_ : sent_)->handle();
    wanted.cap = {.max_send_wr = limits.sends,
                  .max_recv_wr = setup_.receives ? limits.receives : 1,
                  .max_send_sge = limits.send_segments,
                  .max_recv_sge = limits.receive_segments,
                  .max_inline_data = inline_size};
    wanted.qp_type = IBV_QPT_UD;
    wanted.comp_mask = IBV_QP_INIT_ATTR_PD;
    wanted.pd = &setup_.domain;
    if (setup_.shared_number) {
        wanted.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
        wanted.create_flags = IBV_QP_CREATE_SOURCE_QPN;
        wanted.source_qpn = static_cast<std::uint32_t>(*setup_.shared_number);
    }
    if (setup_.max_tso > 0) {
        wanted.comp_mask |= IBV_QP_INIT_ATTR_MAX_TSO_HEADER;
        wanted.max_tso_header = longest_tso_header;
    }
    queue_pair_ = {create_any_qp(setup_.verbs, setup_.context, wanted), {setup_.verbs.destroy_qp}};
    inline_size_ = std::min(wanted.cap.max_inline_data, inline_size);  // the call writes what it grants
    return queue_pair_ != nullptr;
}

void QueuePair::create_queues() {
    const auto& limits = setup_.limits;
    if (setup_.receives) {
        receive_ = std::make_unique<ReceiveQueue>(ReceiveQueue::Setup{.regions = setup_.regions,
                                                                      .pool = setup_.pool,
                                                                      .queue_pair = queue_pair_.get(),
                                                                      .completions = *received_,
                                                                      .depth = limits.receives,
                                                                      .segments = limits.receive_segments,
                                                                      .verifies = setup_.verifies,
                                                                      .counters = setup_.counters.rx});
    }
    send_ = std::make_unique<SendQueue>(SendQueue::Setup{.verbs = setup_.verbs,
                                                         .regions = setup_.regions,
                                                         .pool = setup_.pool,
                                                         .domain = setup_.domain,
                                                         .queue_pair = *queue_pair_,
                                                         .completions = sent_->handle(),
                                                         .port = setup_.port,
                                                         .depth = limits.sends,
                                                         .segments = limits.send_segments,
                                                         .inline_size = inline_size_,
                                                         .max_tso = setup_.max_tso,
                                                         .does_tso = setup_.does_tso,
                                                         .counters = setup_.counters.tx});
}

Result<void> QueuePair::start(const Parameters& parameters) {
    stop();
    if (auto done = to_initialize(setup_.verbs, *queue_pair_, parameters.membership); !done) return done;
    send_->set_port(parameters.facts);
    if (receive_) {
        receive_->set_port(parameters.facts, parameters.own_numbers);
        receive_->fill();
    }
    if (auto done = to_receive(setup_.verbs, *queue_pair_); !done) return done;
    return to_send(setup_.verbs, *queue_pair_, parameters.membership);
}

void QueuePair::stop() {
    if (!queue_pair_) return;
    reset(setup_.verbs, *queue_pair_);
    for (const auto* const queue : {&received_, &sent_}) {
        if (*queue) (*queue)->drain();
    }
    if (receive_) receive_->clear();
    if (send_) send_->clear();
}

}  // namespace verbline::pmd::hca
