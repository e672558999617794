// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/port/xrc_sharing.h"

#include <cerrno>
#include <chrono>
#include <utility>

#include <poll.h>

#include "pmd/base/clock.h"

namespace verbline::verbs {
namespace {

using hub::XrcTarget, hub::XrcTargetState;
using transport::QueuePairState;

/// For the node to tell of a target that is there.
constexpr Time news_limit = 5 * second;

bool is_connected(QueuePairState state) {
    return state == QueuePairState::rtr || state == QueuePairState::rts;
}

/// What the queue pairs of other programs report when one's has sent this NAK.
std::optional<transport::AsyncEventKind> event_of(wire::NakCode nak) {
    switch (nak) {
        case wire::NakCode::invalid_request: return transport::AsyncEventKind::qp_request_error;
        case wire::NakCode::remote_access: return transport::AsyncEventKind::qp_access_error;
        case wire::NakCode::remote_operational: return transport::AsyncEventKind::qp_fatal;
        default: return std::nullopt;
    }
}

}  // namespace

Result<SharedDomain> XrcSharing::open_domain(int file, const hub::OpenXrcDomain& how) {
    const std::scoped_lock lock(hub_mutex_);
    const auto id = hub::open_xrc_domain(link_.lane, file, how);
    if (!id) return std::unexpected(id.error());
    const auto [domain, fresh] = domains_.try_emplace(*id, device_->create_xrc_domain());
    take_news();
    return SharedDomain{.id = *id, .epoch = epoch_, .native = domain->second};
}

void XrcSharing::close_domain(const SharedDomain& domain) {
    const std::scoped_lock lock(hub_mutex_);
    if (!check(domain)) return;
    std::erase_if(targets_, [&](const auto& entry) { return entry.second.shown.domain == domain.id; });
    domains_.erase(domain.id);
    std::ignore = hub::close_xrc_domain(link_.lane, domain.id);  // with the node it is closed, too
}

Result<std::unique_ptr<rdma::QueuePair>> XrcSharing::create(const SharedDomain& domain) {
    const std::scoped_lock lock(hub_mutex_);
    if (auto valid = check(domain); !valid) return std::unexpected(valid.error());
    const auto number = hub::create_xrc_target(link_.lane, domain.id);
    if (!number) return std::unexpected(number.error());
    const auto target = target_of({.domain = domain.id, .qpn = *number});
    auto handle = target ? device_->open_xrc_target(domain.native, *number) : std::unexpected(target.error());
    if (!handle) std::ignore = hub::close_xrc_target(link_.lane, *number);
    return handle;
}

Result<std::unique_ptr<rdma::QueuePair>> XrcSharing::open(const SharedDomain& domain, wire::Qpn target) {
    const std::scoped_lock lock(hub_mutex_);
    if (auto valid = check(domain); !valid) return std::unexpected(valid.error());
    if (auto opened = hub::open_xrc_target(link_.lane, domain.id, target); !opened) {
        return std::unexpected(opened.error());
    }
    Result<std::unique_ptr<rdma::QueuePair>> handle = failure(ETIMEDOUT, "the node does not tell of the XRC target");
    if (await(target)) handle = device_->open_xrc_target(domain.native, target);
    if (!handle) std::ignore = hub::close_xrc_target(link_.lane, target);
    return handle;
}

void XrcSharing::close(const SharedDomain& domain, wire::Qpn target) {
    const std::scoped_lock lock(hub_mutex_);
    if (!check(domain)) return;
    std::ignore = hub::close_xrc_target(link_.lane, target);
    take_news();  // if it was the last handle, the target is gone
}

Result<void> XrcSharing::change(const SharedDomain& domain, const XrcTarget& wanted) {
    const std::scoped_lock lock(hub_mutex_);
    if (auto valid = check(domain); !valid) return valid;
    take_news();
    if (auto applied = apply(wanted); !applied) return applied;
    return hub::set_xrc_target(link_.lane, wanted);
}

std::optional<XrcTarget> XrcSharing::find(wire::Qpn target) {
    const std::scoped_lock lock(hub_mutex_);
    const auto found = targets_.find(target);
    return found != targets_.end() ? std::optional(found->second.shown) : std::nullopt;
}

/// While another thread waits for an answer of the node, that one receives the news; the next upkeep takes it.
void XrcSharing::follow() {
    const std::unique_lock lock(hub_mutex_, std::try_to_lock);
    if (lock && !domains_.empty()) take_news();
}

void XrcSharing::forget() {
    ++epoch_;
    for (auto& [number, target] : targets_) target.pair->error();
    targets_.clear();  // programs have handles until they destroy them
    domains_.clear();
}

Result<void> XrcSharing::check(const SharedDomain& domain) const {
    if (domain.epoch == epoch_) return {};
    return failure(EIO, "the XRC domain ended with the node, which has been restarted; open it again");
}

void XrcSharing::take_news() {
    for (const auto& target : hub::take_xrc_targets(link_.lane)) {
        if (!domains_.contains(target.domain)) continue;  // closed meanwhile
        if (apply(target)) hub::tell_xrc_target_taken(link_.lane, target);
    }
}

bool XrcSharing::await(wire::Qpn target) {
    const auto until = monotonic_now() + news_limit;
    for (;;) {
        take_news();
        const auto left = until - monotonic_now();
        if (targets_.contains(target) || left <= 0) return targets_.contains(target);
        pollfd control{link_.lane.control.get(), POLLIN, 0};
        ::poll(&control, 1, static_cast<int>(left / millisecond));
    }
}

/// The target, made if it is new.
Result<XrcSharing::Target*> XrcSharing::target_of(const XrcTarget& wanted) {
    if (const auto found = targets_.find(wanted.qpn); found != targets_.end()) {
        if (found->second.shown.domain == wanted.domain) return &found->second;
        targets_.erase(found);  // an earlier one of its number, of whose end we were not told
    }
    auto pair = device_->create_queue_pair({.type = transport::QueuePairType::xrc_target,
                                            .xrc_domain = &domains_.at(wanted.domain),
                                            .shared_target = wanted.qpn});
    if (!pair) return std::unexpected(pair.error());
    return &(targets_[wanted.qpn] = {.pair = std::move(*pair), .shown = {.domain = wanted.domain, .qpn = wanted.qpn}});
}

Result<void> XrcSharing::apply(const XrcTarget& wanted) {
    if (wanted.state == XrcTargetState::gone) {
        targets_.erase(wanted.qpn);
        return {};
    }
    const auto found = target_of(wanted);
    if (!found) return std::unexpected(found.error());
    auto& target = **found;
    auto& pair = *target.pair;
    const auto before = pair.state();
    Result<void> applied;
    switch (wanted.state) {
        case XrcTargetState::reset: pair.reset(); break;
        case XrcTargetState::init:
        case XrcTargetState::rtr:
        case XrcTargetState::rts: applied = connect(target, wanted); break;
        case XrcTargetState::error:
            pair.error();
            if (const auto event = event_of(wanted.failure); event && before != QueuePairState::error) {
                on_event_({.kind = *event, .qpn = wanted.qpn});
            }
            break;
        case XrcTargetState::gone: break;
    }
    if (applied) target.shown = wanted;
    return applied;
}

/// INIT, RTR or RTS. Its answers go by the node, to the number that it has itself: so the node knows whose they are. On
/// a soft fabric, where the LID gives the MAC address, they go to the peer's all the same.
Result<void> XrcSharing::connect(Target& target, const XrcTarget& wanted) const {
    auto& pair = *target.pair;
    const auto access = static_cast<memory::Access>(wanted.access);
    if (is_connected(pair.state()) && wanted.state != XrcTargetState::init) {
        pair.set_access(access);
        pair.set_rnr_timer(wanted.rnr_timer);
    } else {
        const auto state = pair.state();
        if (state != QueuePairState::reset && state != QueuePairState::init) pair.reset();
        if (auto done = pair.init({.access = access, .pkey_index = wanted.pkey_index}); !done) return done;
        if (wanted.state == XrcTargetState::init) return {};
        const auto type = link_.infiniband() ? link::GidType::ib
                          : wanted.roce_v1   ? link::GidType::roce_v1
                                             : link::GidType::roce_v2;
        const auto index = device_->gid_index(wanted.source, type);
        if (!index) return failure(EINVAL, "the XRC target's source address is none of this device");
        if (auto done = pair.ready_to_receive(
                {.remote = wanted.qpn,
                 .path = {.gid_index = *index, .address = wanted.to, .mac = link::mac_of(link::node_itself)},
                 .mtu = wanted.mtu,
                 .first = wanted.first,
                 .max_reads = wanted.max_reads,
                 .rnr_timer = wanted.rnr_timer});
            !done) {
            return done;
        }
    }
    if (wanted.state == XrcTargetState::rts && pair.state() == QueuePairState::rtr) return pair.ready_to_send({});
    return {};
}

}  // namespace verbline::verbs
