// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/node/xrc_targets.h"

#include <algorithm>
#include <array>
#include <utility>

#include <rte_mbuf.h>

#include "datapath/link/arrival.h"
#include "datapath/link/part.h"
#include "datapath/link/soft_ib.h"
#include "datapath/node/node_port.h"
#include "datapath/transport/packet.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/icrc_patch.h"

namespace verbline::node {
namespace {

using transport::Operation, transport::Packet, transport::Service;
using Verdict = XrcRelay::Verdict;

// Where fields are from the BTH's begin.
constexpr std::size_t destination_at = 5, psn_at = 8, msn_at = wire::Bth::size + 1;

/// Changes bytes of the packet in a frame with its CRCs. The VCRC is a link's own, and anew on each (IBTA volume 1,
/// 7.8.2). `end`: as link::Arrival.
void patch(rte_mbuf& frame, link::Carrier carrier, std::size_t end, std::size_t at, wire::Bytes with) {
    const wire::MutableBytes bytes{rte_pktmbuf_mtod(&frame, std::byte*), end + link::trailer_size(carrier)};
    wire::patch_with_icrc(bytes.first(end + wire::icrc_size), at, with);
    if (carrier == link::Carrier::soft_ib) link::soft_ib::write_vcrc(bytes);
}

/// Opens the frame's headers; false if they are none of a whole packet. The ICRC is left to the receiver, but on the
/// soft fabric, where both CRCs are checked on each link.
bool parse(rte_mbuf& frame, Packet& packet) {
    if (frame.nb_segs > 1 && rte_pktmbuf_linearize(&frame) != 0) return false;
    packet.mbuf = &frame;
    return !link::open_headers(packet.frame(), packet.arrival) && !transport::parse(packet);
}

XrcRequest request_of(const Packet& packet, std::uint8_t mtu_shift) {
    XrcRequest request{.psn = packet.psn, .shared_queue = wire::load24(packet.headers, 1), .last = packet.traits->last};
    const auto operation = packet.operation();
    request.repeatable = operation != Operation::send && operation != Operation::write;
    if (operation == Operation::read_request) {
        const auto length = std::uint64_t{wire::Reth::parse(packet.after_xrceth())->length};
        const auto packets = (length + (1u << mtu_shift) - 1) >> mtu_shift;
        request.psns = packets == 0 ? 1 : static_cast<std::uint32_t>(packets);
    }
    return request;
}

XrcResponse response_of(const Packet& packet) {
    if (packet.headers.empty()) return {.psn = packet.psn, .aeth = {}};
    return {.psn = packet.psn, .aeth = *wire::Aeth::parse(packet.headers)};
}

}  // namespace

XrcTargets::XrcTargets(rte_mempool* pool, std::function<void()> wake) : pool_(pool), wake_(std::move(wake)) {}

XrcTargets::~XrcTargets() {
    for (auto& [qpn, target] : targets_) drop_held(*target);
}

void XrcTargets::attach(link::MemberId member, NodePort& port) {
    const std::scoped_lock lock(mutex_);
    ports_[member] = &port;
}

void XrcTargets::detach(link::MemberId member) {
    const std::scoped_lock lock(mutex_);
    ports_.erase(member);
    for (auto& [qpn, target] : targets_) depart(*target, member);
}

void XrcTargets::start(wire::Qpn target, const Peer& peer) {
    stop(target);
    const std::scoped_lock lock(mutex_);
    targets_[target] = std::make_unique<Target>(peer, target);
}

void XrcTargets::stop(wire::Qpn target) {
    const std::scoped_lock lock(mutex_);
    const auto found = targets_.extract(target);
    if (!found.empty()) drop_held(*found.mapped());
}

void XrcTargets::join(wire::Qpn target, link::MemberId member, bool ready) {
    const std::scoped_lock lock(mutex_);
    const auto found = targets_.find(target);
    if (found == targets_.end()) return;
    found->second->relay.join(member, ready);
    release(*found->second);
}

void XrcTargets::leave(wire::Qpn target, link::MemberId member) {
    const std::scoped_lock lock(mutex_);
    if (const auto found = targets_.find(target); found != targets_.end()) depart(*found->second, member);
}

void XrcTargets::depart(Target& target, link::MemberId member) noexcept {
    if (const auto nak = target.relay.leave(member)) act(target, *nak, {});
    release(target);
}

std::vector<XrcTargets::Failure> XrcTargets::take_failures() {
    const std::scoped_lock lock(mutex_);
    std::vector<Failure> failures;
    for (auto& [qpn, target] : targets_) {
        if (!target->relay.failed() || std::exchange(target->failure_told, true)) continue;
        failures.emplace_back(qpn, target->relay.failure());
    }
    return failures;
}

bool XrcTargets::route(rte_mbuf& frame, link::MemberId origin) noexcept {
    Packet packet;
    const bool whole = parse(frame, packet);  // on the soft fabric it computes CRCs: not while others wait
    const std::scoped_lock lock(mutex_);
    const auto dropped = [&frame](Counter& counter) {
        counter.add();
        rte_pktmbuf_free(&frame);
        return true;
    };
    if (!whole) return dropped(counters_.xrc_dropped_malformed);
    const auto found = targets_.find(packet.destination);
    if (found == targets_.end()) return dropped(counters_.xrc_dropped_unknown);
    auto& target = *found->second;
    const bool congestion = packet.operation() == Operation::congestion_notification;
    if (packet.traits->service != Service::xrc && !congestion) return dropped(counters_.xrc_dropped_malformed);
    if (origin != link::node_itself && (congestion || !packet.traits->is_request())) {
        return answer(target, packet, frame, origin) ? false : dropped(counters_.xrc_dropped_answer);
    }
    // A target sends no data unasked, so that a notification of its peer is for nothing.
    if (congestion || !packet.traits->is_request()) return dropped(counters_.xrc_dropped_malformed);
    if (origin != target.peer.port || !link::answers(packet.frame(), packet.arrival, target.peer.envelope)) {
        return dropped(counters_.xrc_dropped_unknown);
    }
    receive(target, packet, frame);
    return true;
}

void XrcTargets::receive(Target& target, const Packet& packet, rte_mbuf& frame) noexcept {
    const Held request{.frame = &frame,
                       .request = request_of(packet, target.peer.mtu_shift),
                       .carrier = packet.arrival.carrier,
                       .bth_at = packet.arrival.bth_at,
                       .end = packet.arrival.end,
                       .ack_request = packet.ack_request};
    const auto decision = target.relay.receive(request.request, held_ < most_held);
    decision.verdict == Verdict::hold ? hold(target, request) : act(target, decision, request);
}

/// What becomes of a request; its frame is null if there is none.
void XrcTargets::act(const Target& target, const XrcRelay::Decision& decision, const Held& request) noexcept {
    switch (decision.verdict) {
        case Verdict::pass: return pass(decision, request);
        case Verdict::answer: tell(target, decision.psn, decision.aeth); break;
        case Verdict::drop_full: counters_.xrc_dropped_full.add(); break;
        case Verdict::drop: counters_.xrc_dropped_order.add(); break;
        case Verdict::hold: return;
    }
    rte_pktmbuf_free(request.frame);
}

/// With the PSN of its leg. The last packet of a message asks for an ACK, for which the next member's request may wait.
void XrcTargets::pass(const XrcRelay::Decision& decision, const Held& request) noexcept {
    std::array<std::byte, 4> word;
    wire::store32(word, 0, std::uint32_t{request.ack_request || request.request.last} << 31 | decision.psn.value());
    patch(*request.frame, request.carrier, request.end, request.bth_at + psn_at, word);
    set_destination(*request.frame, link::mac_of(decision.member));
    counters_.xrc_requests.add();
    send(decision.member, request.frame);
}

void XrcTargets::hold(Target& target, const Held& request) {
    target.held.push(request);
    ++held_;
    counters_.xrc_held.add();
}

void XrcTargets::release(Target& target) noexcept {
    while (!target.held.empty()) {
        const auto oldest = target.held.front();
        const auto decision = target.relay.release(oldest.request);
        if (decision.verdict == Verdict::hold) return;
        target.held.pop();
        --held_;
        act(target, decision, oldest);
    }
}

void XrcTargets::drop_held(Target& target) noexcept {
    for (; !target.held.empty(); target.held.pop(), --held_) rte_pktmbuf_free(target.held.front().frame);
}

/// Addresses a member's answer to the peer. False: it answers nothing.
bool XrcTargets::answer(Target& target, const Packet& packet, rte_mbuf& frame, link::MemberId member) noexcept {
    const auto at = packet.arrival.bth_at + destination_at;
    constexpr auto through_psn = psn_at + 4 - destination_at, through_msn = msn_at + 3 - destination_at;
    std::array<std::byte, through_msn> fields;
    std::ranges::copy(packet.frame().subspan(at, through_msn), fields.begin());
    wire::store24(fields, 0, static_cast<std::uint32_t>(target.peer.qpn));
    std::size_t size = 3;
    if (packet.operation() == Operation::congestion_notification) {
        if (!target.relay.has(member)) return false;
    } else {
        const auto relayed = target.relay.answer(member, response_of(packet));
        if (!relayed) return false;
        wire::store24(fields, psn_at + 1 - destination_at, relayed->psn.value());
        if (relayed->msn) wire::store24(fields, msn_at - destination_at, *relayed->msn);
        size = relayed->msn ? through_msn : through_psn;
    }
    patch(frame, packet.arrival.carrier, packet.arrival.end, at, wire::Bytes(fields).first(size));
    set_destination(frame,
                    link::part_at<wire::Ethernet>(target.peer.envelope.view()).get<&wire::Ethernet::destination>());
    counters_.xrc_answers.add();
    release(target);
    return true;
}

/// Sends an ACK or NAK of the node's own by the port that the requests come by.
void XrcTargets::tell(const Target& target, wire::Psn psn, const wire::Aeth& aeth) noexcept {
    auto* const frame = rte_pktmbuf_alloc(pool_);
    if (frame == nullptr) return;  // lost as any packet may be
    const auto& envelope = target.peer.envelope;
    const auto size = envelope.size + wire::Bth::size + wire::Aeth::size + link::trailer_size(envelope.carrier);
    auto* const data = rte_pktmbuf_append(frame, static_cast<std::uint16_t>(size));
    if (data == nullptr) return rte_pktmbuf_free(frame);
    const wire::MutableBytes bytes(reinterpret_cast<std::byte*>(data), size);
    transport::BthWords{.opcode = transport::opcode::of(Service::xrc, transport::opcode::acknowledge),
                        .pkey = target.peer.pkey,
                        .destination = target.peer.qpn,
                        .psn = psn}
        .emit(bytes.subspan(envelope.size));
    aeth.emit(bytes.subspan(envelope.size + wire::Bth::size).first<wire::Aeth::size>());
    link::write_headers(bytes, envelope, 0);
    link::write_crcs(bytes, link::sealing_of(envelope));
    counters_.xrc_naks.add();
    send(target.peer.port, frame);
}

void XrcTargets::send(link::MemberId to, rte_mbuf* frame) noexcept {
    const auto found = ports_.find(to);
    if (found == ports_.end() || !found->second->relay(frame)) {
        counters_.xrc_dropped_port.add();
        return rte_pktmbuf_free(frame);
    }
    wake_();
}

}  // namespace verbline::node
