// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/transport/rc_responder.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include <rte_mbuf.h>

#include "datapath/memory/guarded.h"
#include "datapath/transport/flush_receives.h"
#include "pmd/base/tunables.h"

// Requests. Answers are in rc_responder_answers.cc.

namespace verbline::transport {
namespace {

/// An ACK is sent after so many packets even without AckReq: the peer may be waiting for room in its window.
constexpr std::uint16_t answer_bound = 64;

}  // namespace

void RcResponder::start(const Attributes& attributes) {
    attributes_ = attributes;
    expected_ = attributes.first;
    last_message_ = expected_ + 0xff'ffff;
    msn_ = 0;
    responses_.resize(attributes.max_reads);
}

bool RcResponder::receive(const Packet& packet, PollContext& context) noexcept {
    if (failed_ || fatal_) return false;
    const auto distance = packet.psn - expected_;
    if (distance > 0) return keep(packet, context);
    if (distance < 0) {
        duplicate(packet, context);
        return false;
    }
    if (execute(packet, context) && window_ != nullptr) replay_kept(context);
    return false;
}

bool RcResponder::execute(const Packet& packet, PollContext& context) noexcept {
    // A READ, atomic or FLUSH between the packets of a message is out of sequence (IBTA 9.7.4.1.1).
    const auto operation = packet.operation();
    const bool of_message = operation == Operation::send || operation == Operation::write;
    if (!of_message && (message_.in_progress() || (operation != Operation::atomic_write && !packet.payload.empty()))) {
        return refuse(wire::NakCode::invalid_request, AsyncEventKind::qp_request_error, context);
    }
    switch (operation) {
        case Operation::send:
        case Operation::write: return message(packet, context);
        case Operation::read_request: return read(packet, context);
        case Operation::compare_swap:
        case Operation::fetch_add: return atomic(packet, context);
        case Operation::atomic_write: return atomic_write(packet, context);
        case Operation::flush: return flush_memory(packet, context);
        default: return false;
    }
}

bool RcResponder::message(const Packet& packet, PollContext& context) noexcept {
    switch (message_.accept(packet, qp_, context)) {
        case Outcome::accepted: break;
        case Outcome::no_receive:
            context.counters.out_of_buffer.add();
            rnr_owed_ = answer_owed_ = not_ready_ = true;
            gap_reported_ = true;  // packets behind it were in flight: no NAK for them
            return false;
        case Outcome::invalid_request:
            return refuse(wire::NakCode::invalid_request, AsyncEventKind::qp_request_error, context);
        case Outcome::local_length:
            context.counters.resp_local_length_error.add();
            return refuse(wire::NakCode::invalid_request, AsyncEventKind::qp_request_error, context);
        case Outcome::remote_access:
            return refuse(wire::NakCode::remote_access, AsyncEventKind::qp_access_error, context);
        case Outcome::local_protection:
            return refuse(wire::NakCode::remote_operational, AsyncEventKind::qp_fatal, context);
    }
    if (packet.traits->last && packet.operation() == Operation::write) context.counters.rx_write_requests.add();
    last_message_ = packet.psn;
    accepted(packet, 1, packet.traits->last);
    return true;
}

void RcResponder::accepted(const Packet& packet, std::uint32_t psns, bool message_ends) noexcept {
    expected_ = expected_ + psns;
    if (message_ends) msn_ = (msn_ + 1) & 0xff'ffff;
    gap_owed_ = gap_reported_ = rnr_owed_ = not_ready_ = false;
    if (packet.ack_request || ++unanswered_ >= answer_bound) answer_owed_ = true;
}

void RcResponder::responded(const Packet& packet, std::uint32_t psns) noexcept {
    accepted(packet, psns, true);
    // The response acknowledges its request and all before it.
    answer_owed_ = false;
    unanswered_ = 0;
}

Response* RcResponder::respond(Response::Kind kind, std::uint32_t packets, PollContext& context) noexcept {
    auto* const response = responses_.add();
    if (response == nullptr) {  // more outstanding than agreed
        refuse(wire::NakCode::invalid_request, AsyncEventKind::qp_request_error, context);
        return nullptr;
    }
    *response = {.kind = kind, .first = expected_, .packets = packets, .end = packets, .msn = (msn_ + 1) & 0xff'ffff};
    pending_ = true;
    return response;
}

bool RcResponder::read(const Packet& packet, PollContext& context) noexcept {
    const auto reth = *wire::Reth::parse(packet.after_xrceth());
    if (!memory::has(qp_.access, memory::Access::remote_read) || reth.length > max_message) {
        return refuse(wire::NakCode::invalid_request, AsyncEventKind::qp_request_error, context);
    }
    if (reth.length != 0 && !context.keys.resolve(reth.rkey, domain_of(packet), qp_.qpn, reth.address, reth.length,
                                                  memory::Access::remote_read)) {
        return refuse(wire::NakCode::remote_access, AsyncEventKind::qp_access_error, context);
    }
    const auto packets = qp_.packets(reth.length);
    auto* const response = respond(Response::Kind::read, packets, context);
    if (response == nullptr) return false;
    response->address = reth.address, response->rkey = reth.rkey, response->length = reth.length;
    response->pd = domain_of(packet);
    context.counters.rx_read_requests.add();
    responded(packet, packets);
    return true;
}

bool RcResponder::atomic(const Packet& packet, PollContext& context) noexcept {
    const auto eth = *wire::AtomicEth::parse(packet.after_xrceth());
    if (!memory::has(qp_.access, memory::Access::remote_atomic) || eth.address % 8 != 0) {
        return refuse(wire::NakCode::invalid_request, AsyncEventKind::qp_request_error, context);
    }
    const auto memory =
        context.keys.resolve(eth.rkey, domain_of(packet), qp_.qpn, eth.address, 8, memory::Access::remote_atomic);
    if (!memory) return refuse(wire::NakCode::remote_access, AsyncEventKind::qp_access_error, context);
    auto* const response = respond(Response::Kind::atomic, 1, context);
    if (response == nullptr) return false;
    const auto original = packet.operation() == Operation::fetch_add
                              ? memory::guarded_fetch_add(*memory, eth.swap_or_add)
                              : memory::guarded_compare_swap(*memory, eth.compare, eth.swap_or_add);
    if (!original) {
        *response = {};
        return refuse(wire::NakCode::remote_access, AsyncEventKind::qp_access_error, context);
    }
    response->original = *original;
    context.counters.rx_atomic_requests.add();
    responded(packet, 1);
    return true;
}

bool RcResponder::atomic_write(const Packet& packet, PollContext& context) noexcept {
    const auto reth = *wire::Reth::parse(packet.after_xrceth());
    const bool enabled = memory::has(qp_.access, memory::Access::remote_write);
    if (!enabled || reth.length != 8 || packet.payload.size() != 8 || reth.address % 8 != 0) {
        return refuse(wire::NakCode::invalid_request, AsyncEventKind::qp_request_error, context);
    }
    const auto memory =
        context.keys.resolve(reth.rkey, domain_of(packet), qp_.qpn, reth.address, 8, memory::Access::remote_write);
    std::uint64_t value = 0;  // the eight bytes as they are: no byte order is implied (annex A19)
    std::memcpy(&value, packet.payload.data(), sizeof(value));
    if (!memory) return refuse(wire::NakCode::remote_access, AsyncEventKind::qp_access_error, context);
    auto* const response = respond(Response::Kind::done, 1, context);
    if (response == nullptr) return false;
    if (!memory::guarded_store(*memory, value)) {
        *response = {};
        return refuse(wire::NakCode::remote_access, AsyncEventKind::qp_access_error, context);
    }
    responded(packet, 1);
    return true;
}

bool RcResponder::flush_memory(const Packet& packet, PollContext& context) noexcept {
    const auto headers = packet.after_xrceth();
    const auto feth = *wire::Feth::parse(headers);
    const auto reth = *wire::Reth::parse(headers.subspan(wire::Feth::size));
    constexpr auto known = wire::Feth::global_visibility | wire::Feth::persistence;
    const bool reserved = (feth.placement & ~known) != 0 || feth.selectivity > wire::FlushSelectivity::memory_region;
    if (feth.placement == 0 || reserved) {
        return refuse(wire::NakCode::invalid_request, AsyncEventKind::qp_request_error, context);
    }
    auto needed = memory::Access::none;
    if ((feth.placement & wire::Feth::global_visibility) != 0) needed = needed | memory::Access::flush_global;
    if ((feth.placement & wire::Feth::persistence) != 0) needed = needed | memory::Access::flush_persistent;
    const bool whole_region = feth.selectivity == wire::FlushSelectivity::memory_region;
    const auto length = whole_region ? 0 : reth.length;
    if (!context.keys.resolve(reth.rkey, domain_of(packet), qp_.qpn, reth.address, length, needed)) {
        return refuse(wire::NakCode::remote_access, AsyncEventKind::qp_access_error, context);
    }
    if (respond(Response::Kind::done, 1, context) == nullptr) return false;
    // Earlier WRITEs were stores of this thread to coherent memory: a fence makes them visible, which is all that
    // global visibility requires. Persistence is never granted: Device::register_memory refuses the right.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    responded(packet, 1);
    return true;
}

void RcResponder::duplicate(const Packet& packet, PollContext& context) noexcept {
    context.counters.duplicate_request.add();
    const auto operation = packet.operation();
    if (operation == Operation::send || operation == Operation::write) {
        // The ACK was lost or late. PSNs behind the last SEND or WRITE cannot be acknowledged by an ACK.
        if (last_message_ - packet.psn >= 0) answer_owed_ = true;
        return;
    }
    const bool atomic = operation == Operation::compare_swap || operation == Operation::fetch_add;
    const auto kind = operation == Operation::read_request ? Response::Kind::read
                      : atomic                             ? Response::Kind::atomic
                                                           : Response::Kind::done;
    auto* const response = responses_.find(packet.psn);
    if (response == nullptr || response->kind != kind) return context.counters.rx_dropped_resources.add();
    std::uint32_t begin = 0, count = response->packets;
    if (response->kind == Response::Kind::read) {
        const auto reth = *wire::Reth::parse(packet.after_xrceth());
        begin = static_cast<std::uint32_t>(packet.psn - response->first);
        const auto wanted = qp_.packets(reth.length);
        // The repeated request must lie in the first one: same key, same place (IBTA 9.7.5.1.1).
        const bool same =
            reth.rkey == response->rkey && reth.address == response->address + (std::uint64_t{begin} << qp_.mtu_shift);
        if (!same || std::uint64_t{begin} + wanted > response->packets) {
            return context.counters.rx_dropped_resources.add();
        }
        count = wanted;
    }
    response->next = response->part_begin = begin;
    response->end = begin + count;
    pending_ = true;
}

bool RcResponder::keep(const Packet& packet, PollContext& context) noexcept {
    context.counters.out_of_sequence.add();
    const bool started_again = gap_reported_ && packet.psn - last_ahead_ <= 0;
    if (!gap_reported_ || started_again) gap_owed_ = answer_owed_ = true;
    last_ahead_ = packet.psn;
    if (packet.psn - expected_ >= static_cast<std::int32_t>(ReorderWindow::size)) {
        context.counters.rx_dropped_ahead.add();
        return false;
    }
    if (window_ == nullptr) {
        window_ = context.reorder.borrow();
        if (window_ != nullptr) window_->until = context.now + tunables::longest_kept;
    } else if (window_->has(packet.psn)) {
        context.counters.duplicate_request.add();
        return false;
    }
    if (window_ == nullptr || !context.reorder.admit(*window_, context.counters)) {
        context.counters.rx_dropped_reorder_full.add();
        return false;
    }
    window_->put(packet.psn, {packet.mbuf, packet.arrival});
    // Report each arrival to a peer with selective acknowledgement, unless it is in an RNR wait and will resend
    // everything.
    if (qp_.selective && !not_ready_) gap_owed_ = answer_owed_ = true;
    return true;
}

void RcResponder::replay_kept(PollContext& context) noexcept {
    while (window_->has(expected_)) {
        const auto at = expected_;
        const auto kept = window_->take(at);
        context.reorder.released(1);
        Packet packet;
        packet.mbuf = kept.mbuf, packet.arrival = kept.arrival;
        const bool done = !parse(packet) && execute(packet, context);
        rte_pktmbuf_free(kept.mbuf);
        if (!done) break;
    }
    if (last_message_ + 1 == expected_) answer_owed_ = true;  // else the response to a READ or atomic is the answer
    if (window_->empty()) return give_back_window(context);
    window_->until = context.now + tunables::longest_kept;
    if (not_ready_ || fatal_) return;
    gap_owed_ = answer_owed_ = true;  // another one is missing
}

void RcResponder::on_time(PollContext& context) noexcept {
    if (window_ == nullptr || context.now < window_->until) return;
    context.counters.rx_dropped_reorder_expired.add(window_->count());
    give_back_window(context);
}

void RcResponder::give_back_window(PollContext& context) noexcept {
    if (window_ != nullptr) context.reorder.give_back(std::exchange(window_, nullptr));
}

bool RcResponder::refuse(wire::NakCode code, AsyncEventKind event, PollContext& context) noexcept {
    fatal_ = Fatal{code, event};
    answer_owed_ = true;
    switch (code) {
        case wire::NakCode::remote_access: context.counters.resp_remote_access_errors.add(); break;
        case wire::NakCode::remote_operational: context.counters.resp_remote_operation_errors.add(); break;
        default: context.counters.resp_remote_invalid_request.add(); break;
    }
    return false;
}

void RcResponder::flush(PollContext& context) noexcept {
    stop(context);
    message_.abandon(qp_, context, Status::flushed);
    flush_receives(qp_, context);
}

void RcResponder::stop(PollContext& context) noexcept {
    give_back_window(context);
    failed_ = true;
}

}  // namespace verbline::transport
