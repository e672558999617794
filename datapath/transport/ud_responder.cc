// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/transport/ud_responder.h"

#include <array>

#include "datapath/transport/flush_receives.h"
#include "datapath/transport/payload.h"

namespace verbline::transport {

void UdResponder::receive(const Packet& packet, PollContext& context) noexcept {
    if (failed_) return;
    const auto deth = deth_of(packet);
    if (packet.payload.size() > qp_.mtu()) return context.counters.rx_dropped_mtu.add();

    auto* const shared = qp_.shared;
    auto& queue = shared != nullptr ? shared->queue : qp_.receive_queue;
    const auto* const work = queue.take();
    if (work == nullptr) return context.counters.rx_dropped_no_receive.add();
    if (shared != nullptr && queue.limit_reached()) {
        context.emit({.kind = AsyncEventKind::srq_limit_reached, .srq = shared});
    }

    static constexpr std::array<std::byte, link::global_route_header_size> zeros{};
    const auto frame = packet.frame();
    const auto route = link::route_header(frame, packet.arrival);
    const std::array pieces{wire::Bytes(zeros).first(zeros.size() - route.size()), route, packet.payload};
    const auto pd = shared != nullptr ? shared->pd : qp_.pd;
    const auto status = scatter(work->segment_list(), pieces, pd, qp_.qpn, context.keys);
    // Give the request back first: the user may post again as soon as it sees the completion.
    const auto id = work->id;
    queue.give_back(*work);
    context.complete(*qp_.receive_completions, [&](Completion& completion) {
        completion.id = id;
        completion.status = status;
        completion.kind = CompletionKind::receive;
        if (packet.arrival.global) completion.flags = Completion::has_grh;
        completion.service_level = link::service_level(frame, packet.arrival);
        completion.length = static_cast<std::uint32_t>(zeros.size() + packet.payload.size());
        if (packet.traits->immediate) {
            completion.flags |= Completion::has_immediate;
            completion.immediate = wire::load32(packet.headers, wire::Deth::size);
        }
        completion.qpn = qp_.qpn;
        completion.source = deth.get<&wire::Deth::source>();
        completion.slid = link::source_lid(frame, packet.arrival);
        completion.pkey_index = qp_.pkey_index;
        completion.solicited = packet.solicited;
        if (packet.arrival.carrier != link::Carrier::soft_ib) completion.source_mac = link::source_mac(frame);
        if (qp_.general_services()) completion.pkey_index = static_cast<std::uint16_t>(packet.pkey);
    });
    if (status == Status::success) return;
    // Any sender that knows the Q_Key can send too long a datagram: the completion reports it, but the queue pair
    // continues, as in the kernel.
    if (status == Status::local_length_error) return context.counters.resp_local_length_error.add();
    failed_ = true;
}

void UdResponder::flush(PollContext& context) noexcept {
    flush_receives(qp_, context);
    failed_ = true;
}

}  // namespace verbline::transport
