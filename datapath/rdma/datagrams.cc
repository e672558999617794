// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/rdma/datagrams.h"

#include <array>
#include <cerrno>
#include <tuple>
#include <utility>

#include "datapath/link/reverse_path.h"

namespace verbline::rdma {
namespace {

constexpr std::size_t cache_line = 64;
constexpr std::uint8_t most_hops = 0xff;  // the reverse path may be longer

transport::Segment segment_of(std::span<const std::byte> bytes, wire::RKey lkey) {
    return {reinterpret_cast<std::uint64_t>(bytes.data()), static_cast<std::uint32_t>(bytes.size()), lkey};
}

}  // namespace

Datagrams::Datagrams(DatagramOptions options)
    : options_(std::move(options)),
      stride_((route_size + options_.longest + cache_line - 1) / cache_line * cache_line),
      buffers_(options_.slots * stride_),
      envelopes_(options_.slots) {}

Result<std::unique_ptr<Datagrams>> Datagrams::create(DatagramOptions options) {
    std::unique_ptr<Datagrams> made(new Datagrams(std::move(options)));
    if (auto started = made->start(); !started) return std::unexpected(started.error());
    return made;
}

Result<void> Datagrams::start() {
    auto& device = *options_.device;
    const auto pd = device.allocate_pd();
    auto region = device.register_memory(pd, buffers_, memory::Access::local_write);
    if (!region) return std::unexpected(region.error());
    lkey_ = region->lkey();
    region_.emplace(std::move(*region));
    sent_ = device.create_cq(options_.slots);
    received_ = device.create_cq(options_.slots, options_.on_arrival);
    auto pair = device.create_queue_pair({.type = transport::QueuePairType::ud,
                                          .pd = pd,
                                          .send_completions = sent_.get(),
                                          .receive_completions = received_.get(),
                                          .send = {.requests = options_.slots,
                                                   .segments = 1,
                                                   .inline_bytes = static_cast<std::uint32_t>(options_.longest)},
                                          .receive = {.requests = options_.slots, .segments = 1},
                                          .general_services = options_.general_services});
    if (!pair) return std::unexpected(pair.error());
    pair_ = std::move(*pair);
    return bring_up({});
}

Result<void> Datagrams::restart(const transport::TransportQueuePair::InitAttributes& attributes) {
    pair_->reset();
    // Completions outlive their queue pair's RESET: those left over would post their buffers twice.
    std::array<transport::Completion, batch_size> old;
    for (auto* const queue : {sent_.get(), received_.get()}) {
        while (queue->poll(old) != 0) {}
    }
    return bring_up(attributes);
}

Result<void> Datagrams::bring_up(const transport::TransportQueuePair::InitAttributes& attributes) {
    if (auto done = pair_->init(attributes); !done) return done;
    for (std::size_t slot = 0; slot < options_.slots; ++slot) {
        if (!post_receive(slot)) return failure(ENOMEM, "no room for the buffers of datagrams");
    }
    received_->arm(transport::CompletionQueue::Armed::any);
    if (auto done = pair_->ready_to_receive({.mtu = options_.device->max_mtu()}); !done) return done;
    return pair_->ready_to_send({});
}

Datagrams::Sent Datagrams::send(const Destination& to, std::span<const std::byte> payload) noexcept {
    const auto envelope = options_.device->envelope(to.path, pair_->qpn(), to.qpn);
    if (!envelope) return Sent::invalid_path;
    // Inline data is copied here. The envelope must live until the request has completed: its slot was used by the
    // request that is `slots` older, and is free once the queue has room for this one.
    auto& kept = envelopes_[next_envelope_];
    const auto segment = segment_of(payload, {});
    const auto staged = pair_->stage({.segments = {&segment, 1},
                                      .flags = transport::send_inline,
                                      .ud = {.envelope = &kept, .qpn = to.qpn, .qkey = to.qkey, .pkey = to.pkey}});
    if (!staged) return Sent::queue_full;
    kept = *envelope;
    next_envelope_ = (next_envelope_ + 1) % options_.slots;
    pair_->submit();
    return Sent::yes;
}

/// Sends are unsignalled: a completion in `sent_` is a failure, and has put the queue pair into SQE.
std::size_t Datagrams::take_failures() noexcept {
    if (sent_->size() == 0) return 0;
    std::array<transport::Completion, 32> failed;
    std::size_t count = 0;
    for (auto n = sent_->poll(failed); n != 0; n = sent_->poll(failed)) count += n;
    std::ignore = pair_->resume();
    return count;
}

std::optional<Datagrams::Destination> Datagrams::source(const transport::Completion& completion, Route route) const {
    Destination back{
        .path = {.address = {.dlid = completion.slid, .sl = completion.service_level}, .mac = completion.source_mac},
        .qpn = completion.source};
    const auto& device = *options_.device;
    // Other members of our node are reached at the port's address, as all hosts (transport/tx_stage.h).
    if (device.options().member && link::member_of(back.path.mac)) back.path.mac = device.options().mac;
    if ((completion.flags & transport::Completion::has_grh) == 0) return back;  // on the soft fabric LIDs suffice
    const auto reverse = link::reverse_path(route);
    if (!reverse) return std::nullopt;
    const bool ib = device.options().kind == link::GidTable::Kind::ib;
    const auto type = ib ? link::GidType::ib : reverse->udp ? link::GidType::roce_v2 : link::GidType::roce_v1;
    const auto index = device.gid_index(reverse->ours, type);
    if (!index) return std::nullopt;
    back.path.gid_index = *index;
    back.path.address.global = true;
    back.path.address.dgid = reverse->peer;
    back.path.address.hop_limit = most_hops;
    back.path.address.traffic_class = reverse->traffic_class;
    back.path.address.flow_label = reverse->flow_label;
    return back;
}

bool Datagrams::post_receive(std::size_t slot) noexcept {
    const auto segment = segment_of(buffer(slot).first(route_size + options_.longest), lkey_);
    return pair_->post(transport::ReceiveRequest{.id = slot, .segments = {&segment, 1}}).has_value();
}

}  // namespace verbline::rdma
