// SPDX-License-Identifier: BSD-3-Clause
#include "control/node/node_gsi.h"

#include <algorithm>
#include <utility>

#include <rte_mbuf.h>

#include "datapath/link/transport_header.h"
#include "datapath/node/node_port.h"
#include "datapath/wire/deth.h"
#include "pmd/bridge/frame.h"

namespace verbline::node {
namespace {

constexpr std::size_t rounds_at_once = 4;  ///< bursts before the loop serves others again

bool is_for_gsi(wire::Bytes frame) {
    const auto bth_at = link::transport_header_at(frame);
    return bth_at && link::transport_header(frame, *bth_at).get<&wire::Bth::dest>() == wire::gsi_qpn;
}

}  // namespace

Result<std::unique_ptr<NodeGsi>> NodeGsi::create(control::Loop& loop, GsiQueue& queue, Setup setup) {
    std::unique_ptr<NodeGsi> made(new NodeGsi(loop, queue, std::move(setup)));
    auto watch = loop.watch(queue.signal().descriptor(), [self = made.get()](std::uint32_t) { self->receive(); });
    if (!watch) return std::unexpected(watch.error());
    made->watch_ = std::move(*watch);
    queue.signal().prepare_to_wait();
    return made;
}

NodeGsi::NodeGsi(control::Loop& loop, GsiQueue& queue, Setup setup)
    : loop_(loop), queue_(queue), setup_(std::move(setup)), router_(setup_.router) {}

/// Frames that come from here on signal again, so that the look after `prepare_to_wait` is the last one needed.
void NodeGsi::receive() {
    queue_.signal().drain();
    queue_.signal().prepare_to_wait();
    std::array<rte_mbuf*, pmd::max_burst> frames;
    for (std::size_t round = 0;; ++round) {
        const auto taken = queue_.pop(frames);
        for (auto* const frame : std::span(frames).first(taken)) take(frame);
        if (taken < frames.size()) break;
        if (round == rounds_at_once) {
            queue_.signal().interrupt();
            break;
        }
    }
    arm();
}

void NodeGsi::take(rte_mbuf* frame) {
    const auto origin = GsiQueue::origin(*frame);
    const auto from = origin == link::node_itself ? PeerMember() : PeerMember(origin);
    if (!is_for_gsi(bytes_of(*frame))) return take_datagram(frame);
    const auto opened = open_gsi_frame(bytes_of(*frame));
    if (!opened) return drop(frame, GsiDrop::gsi_dropped_malformed);
    const auto message = cm::ReceivedMessage::parse(opened->mad);
    if (!message) {
        return drop(frame, message.error() == cm::Count::rx_dropped_class_version ? GsiDrop::gsi_dropped_class_version
                                                                                  : GsiDrop::gsi_dropped_malformed);
    }
    const auto verdict = router_.route({.from = from,
                                        .to_wire = from.has_value() && !for_this_node(*frame),
                                        .headers = opened->headers,
                                        .message = *message});
    if (const auto* const why = std::get_if<GsiDrop>(&verdict)) return drop(frame, *why);
    if (const auto* const to = std::get_if<GsiRouter::Deliver>(&verdict)) return deliver(from, to->to, frame);
    if (std::holds_alternative<GsiRouter::Transmit>(verdict)) return setup_.inject(std::nullopt, frame);
    answers_.add();
    send(from, reversed(opened->headers), std::get<GsiRouter::Answer>(verdict).mad);
    rte_pktmbuf_free(frame);
}

void NodeGsi::take_datagram(rte_mbuf* frame) {
    if (!setup_.ipoib) return drop(frame, GsiDrop::gsi_dropped_malformed);
    setup_.ipoib(bytes_of(*frame));
    rte_pktmbuf_free(frame);
}

void NodeGsi::drop(rte_mbuf* frame, GsiDrop why) {
    drops_[why].add();
    rte_pktmbuf_free(frame);
}

bool NodeGsi::for_this_node(const rte_mbuf& frame) const {
    const auto to = pmd::destination_mac(frame);
    return to == pmd::mac_number(setup_.mac) || to >> 16 == link::member_mac_prefix;
}

/// Among members the answer comes back by the node, too.
void NodeGsi::deliver(PeerMember from, link::MemberId to, rte_mbuf* frame) {
    set_destination(*frame, setup_.mac);
    if (from) set_source(*frame, setup_.mac);
    setup_.inject(to, frame);
}

void NodeGsi::send(PeerMember to, const GsiHeaders& headers, mad::MadBytes mad) {
    auto* const frame = rte_pktmbuf_alloc(setup_.pool);
    auto* const at =
        frame == nullptr ? nullptr : rte_pktmbuf_append(frame, static_cast<std::uint16_t>(headers.frame_size()));
    if (at == nullptr) return drop(frame, GsiDrop::gsi_dropped_no_mbuf);
    write_gsi_frame(headers, mad, {reinterpret_cast<std::byte*>(at), headers.frame_size()});
    set_source(*frame, setup_.mac);
    if (to) set_destination(*frame, setup_.mac);
    setup_.inject(to, frame);
}

void NodeGsi::send(const std::vector<Teardown>& teardowns) {
    for (const auto& each : teardowns) {
        teardowns_.add();
        send(each.to, each.headers, each.mad);
    }
}

void NodeGsi::leave(link::MemberId member) {
    send(router_.leave(member, loop_.now()));
    arm();
}

void NodeGsi::arm() {
    const auto due = router_.deadline();
    if (!due) return timer_.cancel();
    timer_ = loop_.at(*due, [this] {
        send(router_.tick(loop_.now()));
        arm();
    });
}

void NodeGsi::counters(const CounterVisitor& visit) const {
    drops_.each(visit);
    visit("gsi_answers", answers_.value(), "messages for no process that the node answered: REJ, DREP, SIDR_REP");
    visit("gsi_teardowns", teardowns_.value(), "DREQs and REJs sent in the name of processes that have ended");
    visit("gsi_connections", router_.size(), "connections of the processes that the node knows of");
}

}  // namespace verbline::node
