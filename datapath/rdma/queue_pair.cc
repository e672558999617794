// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/rdma/queue_pair.h"

#include <algorithm>
#include <bit>
#include <cerrno>

namespace verbline::rdma {

using transport::QueuePairState;

QueuePair::QueuePair(Device& device, Engine& engine, const transport::TransportQueuePair::Setup& setup) {
    owned_ = &own_.emplace(device, engine, setup);
}

QueuePair::QueuePair(std::shared_ptr<Device::OwnedPair> shared) : owned_(shared.get()), shared_(std::move(shared)) {}

QueuePair::~QueuePair() = default;

template <class Change>
Result<void> QueuePair::change(std::initializer_list<QueuePairState> from, const char* to, Change&& change) {
    const std::scoped_lock lock(device().mutex_);
    const QuiescentGate::Hold hold(engine().gate());
    if (std::ranges::find(from, state()) == from.end()) {
        return failure(EINVAL, std::string("a queue pair cannot go to ") + to + " from state " +
                                   std::to_string(static_cast<int>(state())));
    }
    change();
    return {};
}

Result<void> QueuePair::init(const transport::TransportQueuePair::InitAttributes& attributes) {
    return change({QueuePairState::reset, QueuePairState::init}, "INIT", [&] {
        pair().to_init(attributes);
        if (const auto& pkeys = device().options_.pkeys; !pkeys.empty()) pair().follow(pkeys);
    });
}

Result<void> QueuePair::ready_to_receive(const ReadyToReceive& attributes) {
    if (!std::has_single_bit(attributes.mtu) || attributes.mtu < 256 || attributes.mtu > device().max_mtu()) {
        return failure(EINVAL, "path MTU " + std::to_string(attributes.mtu) + " is not one this port has: 256 to " +
                                   std::to_string(device().max_mtu()));
    }
    transport::TransportQueuePair::RtrAttributes rtr{
        .remote = attributes.remote,
        .mtu_shift = static_cast<std::uint8_t>(std::countr_zero(attributes.mtu)),
        .responder = {.first = attributes.first,
                      .max_reads = attributes.max_reads,
                      .rnr_timer = static_cast<std::uint8_t>(attributes.rnr_timer & 31)},
        .selective = attributes.selective_ack,
        .produce_credits = attributes.produce_credits};
    if (type() != transport::QueuePairType::ud) {
        const auto envelope = device().envelope(attributes.path, qpn(), attributes.remote);
        if (!envelope) return std::unexpected(envelope.error());
        rtr.envelope = *envelope;
    }
    return change({QueuePairState::init}, "RTR", [&] { pair().to_rtr(rtr); });
}

Result<void> QueuePair::ready_to_send(const ReadyToSend& attributes) {
    return change({QueuePairState::rtr}, "RTS", [&] { pair().to_rts(attributes); });
}

Result<void> QueuePair::drain() {
    auto changed = change({QueuePairState::rts}, "SQD", [&] { pair().drain(true); });
    ring();
    return changed;
}

Result<void> QueuePair::resume() {
    auto changed = change({QueuePairState::sqd, QueuePairState::sqe}, "RTS", [&] { pair().drain(false); });
    ring();
    return changed;
}

void QueuePair::error() {
    const std::scoped_lock lock(device().mutex_);
    const QuiescentGate::Hold hold(engine().gate());
    if (state() == QueuePairState::reset) return;
    engine().between_polls([&](transport::PollContext& context) { pair().to_error(context); });
}

void QueuePair::reset() {
    const std::scoped_lock lock(device().mutex_);
    const QuiescentGate::Hold hold(engine().gate());
    engine().between_polls([&](transport::PollContext& context) { pair().to_reset(context); });
    device().keys_.unbind_all(qpn());
}

void QueuePair::set_access(memory::Access access) {
    const std::scoped_lock lock(device().mutex_);
    const QuiescentGate::Hold hold(engine().gate());
    pair().set_access(access);
}

void QueuePair::set_qkey(wire::QKey qkey) {
    const std::scoped_lock lock(device().mutex_);
    const QuiescentGate::Hold hold(engine().gate());
    pair().set_qkey(qkey);
}

void QueuePair::set_rnr_timer(std::uint8_t timer) {
    const std::scoped_lock lock(device().mutex_);
    const QuiescentGate::Hold hold(engine().gate());
    pair().set_rnr_timer(timer & 31);
}

void QueuePair::set_retries(const ReadyToSend& attributes) {
    const std::scoped_lock lock(device().mutex_);
    const QuiescentGate::Hold hold(engine().gate());
    pair().set_retries(attributes);
}

Result<void> QueuePair::attach(const wire::Gid& group) {
    if (type() != transport::QueuePairType::ud) return failure(EINVAL, "multicast is for UD queue pairs");
    const std::scoped_lock lock(device().mutex_);
    const QuiescentGate::Hold hold(engine().gate());
    engine().attach(group, pair());
    return {};
}

Result<void> QueuePair::detach(const wire::Gid& group) {
    if (type() != transport::QueuePairType::ud) return failure(EINVAL, "multicast is for UD queue pairs");
    const std::scoped_lock lock(device().mutex_);
    const QuiescentGate::Hold hold(engine().gate());
    engine().detach(group, pair());
    return {};
}

std::expected<void, PostFailure> QueuePair::post(std::span<const transport::SendRequest> requests) noexcept {
    std::expected<void, PostFailure> result;
    std::size_t accepted = 0;
    for (; accepted < requests.size(); ++accepted) {
        if (const auto posted = pair().post(requests[accepted]); !posted) {
            result = std::unexpected(PostFailure{posted.error(), accepted});
            break;
        }
    }
    if (accepted != 0) submit();
    return result;
}

std::expected<void, PostFailure> QueuePair::post(std::span<const transport::ReceiveRequest> requests) noexcept {
    std::expected<void, PostFailure> result;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        if (const auto posted = pair().post(requests[i]); !posted) {
            result = std::unexpected(PostFailure{posted.error(), i});
            break;
        }
    }
    // Receive requests need no doorbell, except in the error state, where the shard must flush them.
    if (state() == QueuePairState::error) ring();
    return result;
}

}  // namespace verbline::rdma
