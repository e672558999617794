// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/hca/receive_spread.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "pmd/hca/extended_verbs.h"
#include "pmd/hca/offers.h"
#include "pmd/hca/refusal.h"

namespace verbline::pmd::hca {
namespace {

constexpr std::uint32_t usual_entries =
    128;  ///< with which the shares of up to 8 queues differ by less than 7 per cent

}  // namespace

Result<std::unique_ptr<ReceiveSpread>> ReceiveSpread::create(const Setup& setup) {
    std::unique_ptr<ReceiveSpread> made(new ReceiveSpread);
    made->verbs_ = &setup.verbs;
    for (std::uint16_t i = 0; i < setup.queues; ++i) {
        if (auto done = made->add_work_queue(setup, i); !done) return std::unexpected(done.error());
    }
    if (auto done = made->create_table(setup); !done) return std::unexpected(done.error());
    if (auto done = made->create_queue_pair(setup); !done) return std::unexpected(done.error());
    return made;
}

ReceiveSpread::~ReceiveSpread() {
    stop();
}

Result<void> ReceiveSpread::add_work_queue(const Setup& setup, std::uint16_t number) {
    auto completions = CompletionQueue::create(setup.verbs, setup.context, setup.limits.receives, Waited::yes);
    if (!completions) return std::unexpected(completions.error());
    auto made = std::make_unique<WorkQueue>(std::move(*completions));
    ibv_wq_init_attr wanted{};
    wanted.wq_type = IBV_WQT_RQ;
    wanted.max_wr = setup.limits.receives;
    wanted.max_sge = setup.limits.receive_segments;
    wanted.pd = &setup.domain;
    wanted.cq = &made->completions.handle();
    made->handle = {create_wq(setup.context, wanted), {destroy_wq}};
    if (!made->handle) return cannot(setup.context, "make a work queue", setup.verbs.error());
    made->receives = std::make_unique<ReceiveQueue>(ReceiveQueue::Setup{.regions = setup.regions,
                                                                        .pool = *setup.pools[number],
                                                                        .work_queue = made->handle.get(),
                                                                        .completions = made->completions,
                                                                        .depth = setup.limits.receives,
                                                                        .segments = setup.limits.receive_segments,
                                                                        .verifies = setup.verifies,
                                                                        .counters = setup.counters[number]->rx});
    work_queues_.push_back(std::move(made));
    return {};
}

Result<void> ReceiveSpread::create_table(const Setup& setup) {
    const auto size = std::max<std::uint32_t>(std::min(usual_entries, setup.most_entries),
                                              std::bit_ceil(std::uint32_t{setup.queues}));
    std::vector<ibv_wq*> entries;
    for (std::uint32_t i = 0; i < size; ++i) {
        table_.queues.push_back(static_cast<std::uint16_t>(i % setup.queues));
        entries.push_back(work_queues_[table_.queues.back()]->handle.get());
    }
    ibv_rwq_ind_table_init_attr wanted{};
    wanted.log_ind_tbl_size = static_cast<std::uint32_t>(std::countr_zero(size));
    wanted.ind_tbl = entries.data();
    indirection_ = {create_rwq_ind_table(setup.context, wanted), {destroy_rwq_ind_table}};
    if (!indirection_) return cannot(setup.context, "make an indirection table", setup.verbs.error());
    return {};
}

/// By all that the device can hash; else by what one of the address families and transports need, as some devices hash
/// one of each.
Result<void> ReceiveSpread::create_queue_pair(const Setup& setup) {
    table_.key.assign(setup.key.begin(), setup.key.end());
    ibv_qp_init_attr_ex wanted{};
    wanted.qp_type = IBV_QPT_UD;
    wanted.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH;
    wanted.pd = &setup.domain;
    wanted.rwq_ind_tbl = indirection_.get();
    wanted.rx_hash_conf = {.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
                           .rx_hash_key_len = static_cast<std::uint8_t>(table_.key.size()),
                           .rx_hash_key = table_.key.data(),
                           .rx_hash_fields_mask = 0};
    for (const auto fields : {setup.hash_fields, of_ipv4_and_tcp(setup.hash_fields)}) {
        wanted.rx_hash_conf.rx_hash_fields_mask = fields;
        auto asked = wanted;
        queue_pair_ = {create_qp_ex(setup.verbs, setup.context, asked), {setup.verbs.destroy_qp}};
        table_.udp_ports = (fields & IBV_RX_HASH_DST_PORT_UDP) != 0;
        if (queue_pair_) return {};
    }
    return cannot(setup.context, "make a queue pair that spreads what it receives", setup.verbs.error());
}

Result<void> ReceiveSpread::start(const QueuePair::Parameters& parameters) {
    stop();
    for (const auto& each : work_queues_) {
        if (const int error = modify_wq(*each->handle, IBV_WQS_RDY); error != 0)
            return cannot(*each->handle->context, "make a work queue ready", error);
        each->receives->set_port(parameters.facts, parameters.own_numbers);
        each->receives->fill();
    }
    if (auto done = to_initialize(*verbs_, *queue_pair_, parameters.membership); !done) return done;
    return to_receive(*verbs_, *queue_pair_);
}

void ReceiveSpread::stop() {
    if (queue_pair_) reset(*verbs_, *queue_pair_);
    for (const auto& each : work_queues_) {
        (void)modify_wq(*each->handle, IBV_WQS_RESET);
        each->completions.drain();
        each->receives->clear();
    }
}

bool ReceiveSpread::failed() const {
    return std::ranges::any_of(work_queues_, [](const auto& each) { return each->receives->failed(); });
}

}  // namespace verbline::pmd::hca
