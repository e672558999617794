// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/hca/queue_pair.h"

#include <algorithm>
#include <utility>

#include "pmd/base/tunables.h"
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
    const auto& verbs = setup_.verbs;
    const auto& limits = setup_.limits;
    ibv_qp_init_attr wanted{};
    wanted.send_cq = &sent_->handle();
    wanted.recv_cq = &(setup_.receives ? received_ : sent_)->handle();
    wanted.cap = {.max_send_wr = limits.sends,
                  .max_recv_wr = setup_.receives ? limits.receives : 1,
                  .max_send_sge = limits.send_segments,
                  .max_recv_sge = limits.receive_segments,
                  .max_inline_data = tunables::hca_inline};
    wanted.qp_type = IBV_QPT_UD;
    auto made = wanted;  // the call writes what it grants
    queue_pair_ = {verbs.create_qp(&setup_.domain, &made), {verbs.destroy_qp}};
    if (!queue_pair_) {  // perhaps so much does not fit into a request of this device
        made = wanted;
        made.cap.max_inline_data = 0;
        queue_pair_ = {verbs.create_qp(&setup_.domain, &made), {verbs.destroy_qp}};
    }
    if (!queue_pair_) return cannot(setup_.context, "make a UD queue pair", verbs.error());
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
    send_ = std::make_unique<SendQueue>(
        SendQueue::Setup{.verbs = verbs,
                         .regions = setup_.regions,
                         .pool = setup_.pool,
                         .domain = setup_.domain,
                         .queue_pair = *queue_pair_,
                         .completions = sent_->handle(),
                         .port = setup_.port,
                         .depth = limits.sends,
                         .segments = limits.send_segments,
                         .inline_size = std::min(made.cap.max_inline_data, tunables::hca_inline),
                         .counters = setup_.counters.tx});
    return {};
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
    return to_send(setup_.verbs, *queue_pair_);
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
