// SPDX-License-Identifier: BSD-3-Clause
// What an opened device does: its queues start and stop, and it tells of events.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "datapath/wire/text.h"
#include "pmd/hca/adapter.h"

namespace verbline::pmd::hca {
namespace {

/// What a port's queue pairs depend on.
bool same_start(const PortFacts& a, const PortFacts& b) {
    return a.mtu == b.mtu && a.lid == b.lid && a.gid == b.gid && a.gid_index == b.gid_index;
}

std::error_code code(int error) {
    return {error, std::generic_category()};
}

}  // namespace

Result<void> Adapter::refresh() {
    auto facts = read_port(verbs_, *context_, setup_.port);
    if (!facts) return std::unexpected(facts.error());
    facts_ = *facts;
    return {};
}

bool Adapter::outdated(const Identity& identity) const {
    if (!same_start(facts_, started_with_)) return true;
    return find_pkey(verbs_, *context_, setup_.port, facts_, identity.pkey) != started_pkey_index_;
}

Result<void> Adapter::start(const Identity& identity) {
    const auto pkey = find_pkey(verbs_, *context_, setup_.port, facts_, identity.pkey);
    if (!pkey) {
        return failure(ENOENT, fmt::format("P_Key {} is not in the P_Key table of port {} of RDMA device {}, which "
                                           "has {}",
                                           wire::to_string(identity.pkey), setup_.port, setup_.device, pkeys()));
    }
    std::vector<std::uint32_t> numbers;
    for (const auto& each : queue_pairs_) numbers.push_back(each->handle().qp_num);
    if (shared_) numbers.push_back(static_cast<std::uint32_t>(shared_->number()));
    const QueuePair::Parameters parameters{.facts = facts_,
                                           .membership = {.port = setup_.port,
                                                          .pkey_index = *pkey,
                                                          .qkey = identity.qkey,
                                                          .of_kernel = shared_ != nullptr},
                                           .own_numbers = numbers};
    if (spread_) {
        if (auto started = spread_->start(parameters); !started) return started;
    }
    for (const auto& each : queue_pairs_) {
        if (auto started = each->start(parameters); !started) return started;
    }
    if (shared_) refused_rules_ = shared_->rules().start();
    started_with_ = facts_;
    started_pkey_index_ = *pkey;
    running_ = true;
    return {};
}

void Adapter::stop() {
    if (shared_) shared_->rules().stop();  // first, so that what comes is the kernel's
    if (spread_) spread_->stop();
    for (const auto& each : queue_pairs_) each->stop();
    running_ = false;
}

bool Adapter::failed() const {
    if (!running_) return false;
    return (spread_ && spread_->failed()) ||
           std::ranges::any_of(queue_pairs_, [](const auto& each) { return each->failed(); });
}

Events Adapter::events() {
    Events seen;
    ibv_async_event event{};
    while (verbs_.get_async_event(context_.get(), &event) == 0) {
        switch (event.event_type) {
            case IBV_EVENT_DEVICE_FATAL: seen.lost = true; break;
            case IBV_EVENT_CQ_ERR:  // it takes no completion any more, and only a new one would
                seen.lost = true;
                ++seen.queue_pairs;
                break;
            case IBV_EVENT_QP_FATAL:
            case IBV_EVENT_QP_REQ_ERR:
            case IBV_EVENT_QP_ACCESS_ERR:
            case IBV_EVENT_WQ_FATAL:
                seen.queue_pair = true;
                ++seen.queue_pairs;
                break;
            default: ++seen.port; break;
        }
        verbs_.ack_async_event(&event);
    }
    return seen;
}

std::error_code Adapter::attach(const MulticastAddress& group) {
    if (shared_) return shared_->attach(group.mgid);
    if (const auto error = kernel_groups_->join(group.mgid)) return error;
    ibv_gid gid;
    std::memcpy(gid.raw, group.mgid.bytes.data(), sizeof gid.raw);
    return code(verbs_.attach_mcast(&receiving_pair(), &gid, static_cast<std::uint16_t>(group.mlid)));
}

std::error_code Adapter::detach(const MulticastAddress& group) {
    if (shared_) return shared_->detach(group.mgid);
    ibv_gid gid;
    std::memcpy(gid.raw, group.mgid.bytes.data(), sizeof gid.raw);
    const auto error = code(verbs_.detach_mcast(&receiving_pair(), &gid, static_cast<std::uint16_t>(group.mlid)));
    const auto left = kernel_groups_->leave(group.mgid);
    return error ? error : left;
}

}  // namespace verbline::pmd::hca
