// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/rdma/pairs.h"

#include <algorithm>
#include <array>
#include <utility>

#include "pmd/base/clock.h"

namespace verbline::rdma_bench {
namespace {

using transport::QueuePairType;

constexpr wire::QKey qkey{0x11111111};
constexpr std::uint32_t least_depth = 16;  ///< replies are posted before the last one's completion is taken
constexpr std::uint8_t timeout = 17;       ///< 0.54 s: a peer may share its CPU with others
constexpr auto rights = memory::Access::local_write | memory::Access::remote_write | memory::Access::remote_read |
                        memory::Access::remote_atomic;

QueuePairType sending_type(Transport transport) {
    constexpr std::array types{QueuePairType::rc, QueuePairType::uc, QueuePairType::ud, QueuePairType::xrc_initiator};
    return types[std::to_underlying(transport)];
}

transport::SendOperation operation_of(Operation operation) {
    using enum transport::SendOperation;
    constexpr std::array operations{send, write, read, fetch_add, compare_swap};
    return operations[std::to_underlying(operation)];
}

}  // namespace

Result<std::unique_ptr<Pairs>> Pairs::create(Port& port, const TestSpec& spec) {
    std::unique_ptr<Pairs> made(new Pairs(port, spec));
    if (auto good = made->make(); !good) return std::unexpected(good.error());
    return made;
}

Result<void> Pairs::make() {
    bytes_.resize(spec_.memory());
    pd_ = device_.allocate_pd();
    auto region = device_.register_memory(pd_, bytes_, rights);
    if (!region) return std::unexpected(region.error());
    region_.emplace(std::move(*region));
    sent_ = device_.create_cq(spec_.pairs * std::max(spec_.tx_depth, least_depth));
    received_ = device_.create_cq(spec_.pairs * spec_.rx_depth);
    if (spec_.transport == Transport::xrc)
        if (auto good = make_shared_queue(); !good) return good;
    for (std::uint32_t i = 0; i < spec_.pairs; ++i)
        if (auto good = make_pair(); !good) return good;
    return {};
}

Result<void> Pairs::make_shared_queue() {
    domain_.emplace(device_.create_xrc_domain());
    auto queue = device_.create_shared_receive_queue(pd_, {.requests = spec_.pairs * spec_.rx_depth, .segments = 1},
                                                     &*domain_, received_.get());
    if (!queue) return std::unexpected(queue.error());
    shared_ = std::move(*queue);
    return {};
}

Result<void> Pairs::make_pair() {
    Pair pair{.first = wire::Psn(static_cast<std::uint32_t>(monotonic_now()))};
    rdma::QueuePairOptions options{
        .type = sending_type(spec_.transport),
        .pd = pd_,
        .send_completions = sent_.get(),
        .receive_completions = received_.get(),
        .send = {.requests = std::max(spec_.tx_depth, least_depth), .segments = 1, .inline_bytes = spec_.inline_bytes},
        .receive = {.requests = spec_.rx_depth, .segments = 1}};
    for (auto* const place : {&pair.sends, &pair.receives}) {
        auto made = device_.create_queue_pair(options);
        if (!made) return std::unexpected(made.error());
        *place = std::move(*made);
        if (auto good = (*place)->init({.access = rights, .pkey = pkey_, .qkey = qkey}); !good) return good;
        if (spec_.transport != Transport::xrc) break;
        options.type = QueuePairType::xrc_target, options.xrc_domain = &*domain_;
    }
    pairs_.push_back(std::move(pair));
    return {};
}

PairNumbers Pairs::numbers(std::size_t pair) const {
    const auto& own = pairs_[pair];
    const auto sends = own.sends->qpn();
    return {.sends = sends, .receives = own.receives ? own.receives->qpn() : sends, .first = own.first};
}

PeerMemory Pairs::memory() const {
    return {.rkey = region_->rkey(),
            .address = reinterpret_cast<std::uint64_t>(bytes_.data()),
            .srq = shared_ ? shared_->number() : 0};
}

Result<void> Pairs::connect(std::size_t pair, const PairNumbers& peer, const PeerMemory& memory, const rdma::Path& path,
                            std::uint32_t mtu) {
    auto& own = pairs_[pair];
    peer_ = memory, own.peer = peer;
    const auto to_rts = [&](rdma::QueuePair& queue_pair, wire::Qpn remote) -> Result<void> {
        auto good = queue_pair.ready_to_receive({.remote = remote,
                                                 .path = path,
                                                 .mtu = mtu,
                                                 .first = peer.first,
                                                 .max_reads = static_cast<std::uint8_t>(spec_.reads),
                                                 .selective_ack = rdma::QueuePair::offers_selective_ack});
        if (!good) return good;
        return queue_pair.ready_to_send(
            {.first = own.first, .timeout = timeout, .max_reads = static_cast<std::uint8_t>(spec_.reads)});
    };
    if (auto good = to_rts(*own.sends, peer.receives); !good) return good;
    if (own.receives)
        if (auto good = to_rts(*own.receives, peer.sends); !good) return good;
    if (spec_.transport == Transport::ud) {
        auto envelope = device_.envelope(path, own.sends->qpn(), peer.receives);
        if (!envelope) return std::unexpected(envelope.error());
        own.envelope = *envelope;
    }
    if (spec_.operation == Operation::send && !post_receives(pair, spec_.rx_depth))
        return failure(ENOMEM, "the receive queue does not take its receives");
    own.connected = true;
    return {};
}

std::span<std::byte> Pairs::buffer(std::size_t index) {
    return std::span(bytes_).subspan(index * spec_.stride() + route_room, spec_.largest);
}

/// READs take what the peer would send; all others change what it would receive.
std::uint64_t Pairs::address_at_peer(std::size_t pair) const {
    const auto index = 2 * pair + (spec_.operation == Operation::read ? 0 : 1);
    return peer_.address + index * spec_.stride() + route_room;
}

transport::SendRequest Pairs::request(std::size_t pair, std::uint32_t size, transport::Segment& segment) {
    auto& own = pairs_[pair];
    const bool result = spec_.operation == Operation::read;  // replaces what was received
    segment = {reinterpret_cast<std::uint64_t>((result ? incoming(pair) : outgoing(pair)).data()), size,
               region_->lkey()};
    transport::SendRequest made{.segments = {&segment, 1},
                                .operation = operation_of(spec_.operation),
                                .remote_address = address_at_peer(pair),
                                .rkey = peer_.rkey,
                                .swap_or_add = 1,
                                .xrc_srq = peer_.srq};
    if (own.envelope) made.ud = {.envelope = &*own.envelope, .qpn = own.peer.receives, .qkey = qkey};
    if (!spec_.awaits_response() && size <= spec_.inline_bytes) made.flags = transport::send_inline;
    return made;
}

bool Pairs::post_receives(std::size_t pair, std::size_t count) {
    constexpr std::size_t batch = 64;
    const auto route = spec_.transport == Transport::ud ? route_room : 0;
    const transport::Segment segment{reinterpret_cast<std::uint64_t>(incoming(pair).data()) - route,
                                     spec_.largest + route, region_->lkey()};
    std::array<transport::ReceiveRequest, batch> requests;
    requests.fill({.id = pair, .segments = {&segment, 1}});
    for (; count > 0; count -= std::min(count, batch)) {
        const auto some = std::span<const transport::ReceiveRequest>(requests).first(std::min(count, batch));
        if (!shared_ && !pairs_[pair].sends->post(some)) return false;
        if (shared_ && !std::ranges::all_of(some, [&](const auto& each) { return shared_->post(each).has_value(); }))
            return false;
    }
    return true;
}

}  // namespace verbline::rdma_bench
