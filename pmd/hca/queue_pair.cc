// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/hca/queue_pair.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <fcntl.h>

#include <fmt/format.h>

#include "pmd/base/tunables.h"

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

std::unexpected<Error> QueuePair::failed(int error, const char* what) const {
    return failure(
        error, fmt::format("RDMA device {}: cannot {}: {}", setup_.context.device->name, what, std::strerror(error)));
}

Result<void> QueuePair::create_completion_queues() {
    const auto& verbs = setup_.verbs;
    const auto depth = [](std::uint32_t requests) { return static_cast<int>(requests); };
    if (setup_.receives) {
        channel_ = {verbs.create_comp_channel(&setup_.context), {verbs.destroy_comp_channel}};
        if (!channel_) return failed(verbs.error(), "make a completion channel");
        const int flags = fcntl(channel_->fd, F_GETFL);
        if (flags < 0 || fcntl(channel_->fd, F_SETFL, flags | O_NONBLOCK) != 0)
            return failed(errno, "read a completion channel without waiting");
        received_ = {verbs.create_cq(&setup_.context, depth(setup_.limits.receives), nullptr, channel_.get(), 0),
                     {verbs.destroy_cq}};
        if (!received_) return failed(verbs.error(), "make a completion queue");
    }
    sent_ = {verbs.create_cq(&setup_.context, depth(setup_.limits.sends), nullptr, nullptr, 0), {verbs.destroy_cq}};
    if (!sent_) return failed(verbs.error(), "make a completion queue");
    return {};
}

Result<void> QueuePair::create_queue_pair() {
    const auto& verbs = setup_.verbs;
    const auto& limits = setup_.limits;
    ibv_qp_init_attr wanted{};
    wanted.send_cq = sent_.get();
    wanted.recv_cq = setup_.receives ? received_.get() : sent_.get();
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
    if (!queue_pair_) return failed(verbs.error(), "make a UD queue pair");
    if (setup_.receives) {
        receive_ = std::make_unique<ReceiveQueue>(ReceiveQueue::Setup{.verbs = verbs,
                                                                      .regions = setup_.regions,
                                                                      .pool = setup_.pool,
                                                                      .queue_pair = *queue_pair_,
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
                         .completions = *sent_,
                         .port = setup_.port,
                         .depth = limits.sends,
                         .segments = limits.send_segments,
                         .inline_size = std::min(made.cap.max_inline_data, tunables::hca_inline),
                         .counters = setup_.counters.tx});
    return {};
}

Result<void> QueuePair::modify(ibv_qp_attr& attributes, int mask, const char* to) {
    const int error = setup_.verbs.modify_qp(queue_pair_.get(), &attributes, mask);
    if (error != 0) return failed(error, fmt::format("move a queue pair to {}", to).c_str());
    return {};
}

Result<void> QueuePair::start(const Parameters& parameters) {
    stop();
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.pkey_index = parameters.pkey_index;
    attributes.port_num = setup_.port;
    attributes.qkey = static_cast<std::uint32_t>(parameters.qkey);
    if (auto done = modify(attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY, "INIT"); !done)
        return done;
    send_->set_port(parameters.facts);
    if (receive_) {
        receive_->set_port(parameters.facts, parameters.own_numbers);
        receive_->fill();
    }
    attributes = {};
    attributes.qp_state = IBV_QPS_RTR;
    if (auto done = modify(attributes, IBV_QP_STATE, "RTR"); !done) return done;
    attributes.qp_state = IBV_QPS_RTS;
    attributes.sq_psn = 0;
    return modify(attributes, IBV_QP_STATE | IBV_QP_SQ_PSN, "RTS");
}

/// The device takes back what it holds when the queue pair is reset; completions that it had written before remain.
void QueuePair::stop() {
    if (!queue_pair_) return;
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RESET;
    (void)setup_.verbs.modify_qp(queue_pair_.get(), &attributes, IBV_QP_STATE);
    std::array<ibv_wc, 64> stale;
    for (auto* const queue : {received_.get(), sent_.get()}) {
        while (queue != nullptr && poll(*queue, static_cast<int>(stale.size()), stale.data()) > 0) {}
    }
    if (receive_) receive_->clear();
    if (send_) send_->clear();
}

void QueuePair::want_event(bool wanted) noexcept {
    if (!channel_) return;
    if (wanted) {
        if (received_->context->ops.req_notify_cq(received_.get(), 0) == 0) armed_ = true;
    } else if (std::exchange(armed_, false)) {
        take_events();
    }
}

void QueuePair::take_events() noexcept {
    ibv_cq* queue = nullptr;
    void* context = nullptr;
    unsigned count = 0;
    while (setup_.verbs.get_cq_event(channel_.get(), &queue, &context) == 0) ++count;
    if (count > 0) setup_.verbs.ack_cq_events(received_.get(), count);
}

}  // namespace verbline::pmd::hca
