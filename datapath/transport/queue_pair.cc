// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/transport/queue_pair.h"

#include <algorithm>
#include <utility>

#include "datapath/transport/ud_check.h"

namespace verbline::transport {
namespace {

constexpr Service service_of(QueuePairType type) {
    switch (type) {
        case QueuePairType::rc: return Service::rc;
        case QueuePairType::uc: return Service::uc;
        case QueuePairType::ud: return Service::ud;
        case QueuePairType::xrc_initiator:
        case QueuePairType::xrc_target: return Service::xrc;
    }
    std::unreachable();
}

SendQueue::Limits send_limits(const TransportQueuePair::Setup& setup) {
    return setup.type == QueuePairType::xrc_target ? SendQueue::Limits{} : setup.send;
}

ReceiveQueue::Limits receive_limits(const TransportQueuePair::Setup& setup) {
    const bool own = setup.shared == nullptr && service_of(setup.type) != Service::xrc;
    return own ? setup.receive : ReceiveQueue::Limits{};
}

constexpr bool receives(QueuePairState state) {
    return state == QueuePairState::rtr || state == QueuePairState::rts || state == QueuePairState::sqd ||
           state == QueuePairState::sqe;
}
/// The earlier of two times, where 0 means never.
constexpr Time earlier(Time a, Time b) {
    return a == 0 || b == 0 ? a + b : std::min(a, b);
}
constexpr bool sends(QueuePairState state) {
    return state == QueuePairState::rts || state == QueuePairState::sqd;
}

}  // namespace

TransportQueuePair::TransportQueuePair(const Setup& setup, const congestion::DcqcnParameters& dcqcn)
    : type_(setup.type), qp_(send_limits(setup), receive_limits(setup)), dcqcn_(&dcqcn) {
    qp_.service = service_of(setup.type);
    qp_.qpn = setup.qpn;
    qp_.pd = setup.pd;
    qp_.signal_all = setup.signal_all;
    qp_.shared = setup.shared;
    qp_.send_completions = setup.send_completions;
    qp_.receive_completions = setup.receive_completions;
    qp_.xrc_domain = setup.xrc_domain;
    qp_.xrc_queues = setup.xrc_queues;
    make_halves();
}

TransportQueuePair::~TransportQueuePair() = default;

void TransportQueuePair::make_halves() {
    switch (type_) {
        case QueuePairType::rc:
            requester_.emplace<RcRequester>(qp_);
            responder_.emplace<RcResponder>(qp_);
            break;
        case QueuePairType::xrc_initiator: requester_.emplace<RcRequester>(qp_); break;
        case QueuePairType::xrc_target: responder_.emplace<RcResponder>(qp_); break;
        case QueuePairType::uc:
            requester_.emplace<UnreliableRequester>(qp_);
            responder_.emplace<UcResponder>(qp_);
            break;
        case QueuePairType::ud:
            requester_.emplace<UnreliableRequester>(qp_);
            responder_.emplace<UdResponder>(qp_);
            break;
    }
}

std::expected<void, PostError> TransportQueuePair::post(const SendRequest& request) noexcept {
    if (!qp_.send_queue.exists() || state() < QueuePairState::rts) return std::unexpected(PostError::invalid);
    return qp_.send_queue.post(request);
}

std::expected<void, PostError> TransportQueuePair::post(const ReceiveRequest& request) noexcept {
    if (!qp_.receive_queue.exists() || state() == QueuePairState::reset) return std::unexpected(PostError::invalid);
    return qp_.receive_queue.post(request);
}

void TransportQueuePair::to_init(const InitAttributes& attributes) {
    qp_.access = attributes.access;
    qp_.pkey = attributes.pkey;
    qp_.pkey_index = attributes.pkey_index;
    qp_.qkey = qp_.general_services() ? wire::gsi_qkey : attributes.qkey;
    state_.store(QueuePairState::init, std::memory_order_release);
}

void TransportQueuePair::to_rtr(const RtrAttributes& attributes) {
    qp_.remote = attributes.remote;
    qp_.envelope = attributes.envelope;
    qp_.mtu_shift = attributes.mtu_shift;
    qp_.selective = attributes.selective;
    qp_.produce_credits = attributes.produce_credits;
    if (auto* const rc = std::get_if<RcResponder>(&responder_)) rc->start(attributes.responder);
    if (auto* const uc = std::get_if<UcResponder>(&responder_)) uc->start(attributes.responder.first);
    state_.store(QueuePairState::rtr, std::memory_order_release);
}

void TransportQueuePair::to_rts(const RcRequester::Attributes& attributes) {
    if (auto* const rc = rc_requester()) rc->start(attributes);
    if (auto* const other = unreliable()) other->start(attributes.first);
    state_.store(QueuePairState::rts, std::memory_order_release);
}

void TransportQueuePair::to_error(PollContext& context) {
    enter_error(context);
}

void TransportQueuePair::to_reset(PollContext& context) {
    cancel();
    if (auto* const rc = rc_requester()) rc->stop(context);
    if (auto* const rc = std::get_if<RcResponder>(&responder_)) rc->stop(context);
    if (qp_.shared != nullptr || qp_.service == Service::xrc) {
        // A request taken from a shared queue is returned to it without a completion (IBTA 10.3.1.1).
        std::visit(
            [&](auto& half) {
                if constexpr (requires { half.abandon(context); }) half.abandon(context);
            },
            responder_);
    }
    qp_.send_queue.clear();
    qp_.receive_queue.clear();
    rate_.reset();
    established_ = drain_reported_ = false;
    make_halves();
    state_.store(QueuePairState::reset, std::memory_order_release);
}

void TransportQueuePair::drain(bool on) noexcept {
    if (auto* const rc = rc_requester()) rc->drain(on);
    if (auto* const other = unreliable()) {
        other->drain(on);
        if (!on) other->resume();
    }
    drain_reported_ = false;
    state_.store(on ? QueuePairState::sqd : QueuePairState::rts, std::memory_order_release);
}

void TransportQueuePair::set_rnr_timer(std::uint8_t timer) {
    if (auto* const rc = std::get_if<RcResponder>(&responder_)) rc->set_rnr_timer(timer);
}

void TransportQueuePair::forget(const SharedReceiveQueue& queue) noexcept {
    if (auto* const rc = std::get_if<RcResponder>(&responder_)) rc->forget(queue);
}

void TransportQueuePair::set_retries(const RcRequester::Attributes& attributes) {
    if (auto* const rc = rc_requester()) rc->set_retries(attributes);
}

bool TransportQueuePair::requester_drained() const noexcept {
    if (const auto* const rc = rc_requester()) return rc->drained();
    if (const auto* const other = unreliable()) return other->drained();
    return true;
}

bool TransportQueuePair::drained() const noexcept {
    return state() == QueuePairState::sqd && requester_drained();
}

bool TransportQueuePair::acceptable(const Packet& packet, PollContext& context) noexcept {
    if (!receives(state())) return context.counters.rx_dropped_state.add(), false;
    if (qp_.service == Service::ud) {
        const auto discard = ud_discard(
            packet, {.qpn = qp_.qpn, .pkey = qp_.pkey, .qkey = qp_.qkey, .any_pkey = qp_.general_services()});
        if (discard) context.counters[*discard].add();
        return !discard;
    }
    if (packet.traits->service != qp_.service) return context.counters.rx_dropped_opcode.add(), false;
    if (!wire::match(packet.pkey, qp_.pkey)) return context.counters.rx_dropped_pkey.add(), false;
    if (connected() && !link::answers(packet.frame(), packet.arrival, qp_.envelope)) {
        return context.counters.rx_dropped_source.add(), false;
    }
    return true;
}

bool TransportQueuePair::receive(const Packet& packet, PollContext& context) noexcept {
    if (!acceptable(packet, context)) return false;
    if (packet.arrival.congestion_experienced) note_congestion(packet, context);
    if (state() == QueuePairState::rtr && packet.traits->is_request() && !std::exchange(established_, true) &&
        connected()) {
        context.emit({.kind = AsyncEventKind::communication_established, .qpn = qp_.qpn});
    }
    if (!packet.traits->is_request()) {
        auto* const rc = rc_requester();
        if (rc == nullptr || !sends(state())) return context.counters.rx_dropped_state.add(), false;
        rc->receive(packet, context);
        check_requester(context);
        qp_.send_queue.release();
        return false;
    }
    bool kept = false;
    if (auto* const rc = std::get_if<RcResponder>(&responder_)) {
        kept = rc->receive(packet, context);
    } else if (auto* const uc = std::get_if<UcResponder>(&responder_)) {
        uc->receive(packet, context);
    } else if (auto* const ud = std::get_if<UdResponder>(&responder_)) {
        ud->receive(packet, context);
    } else {
        context.counters.rx_dropped_opcode.add();
    }
    check_responder(context);
    return kept;
}

void TransportQueuePair::note_congestion(const Packet&, PollContext& context) noexcept {
    context.counters.np_ecn_marked_roce_packets.add();
    if (!connected() || qp_.envelope.carrier == link::Carrier::soft_ib || !cnp_limiter_.mark(context.now)) return;
    const auto room = context.tx_stage.begin(qp_.envelope, congestion::cnp_size, TxStage::Use::answer);
    if (room.empty()) return;
    congestion::emit_cnp(room.first<congestion::cnp_size>(), qp_.remote, wire::PKey{0xffff});
    context.tx_stage.commit(qp_.envelope);
    context.counters.np_cnp_sent.add();
}

void TransportQueuePair::congestion_notified(const Packet& packet, PollContext& context) noexcept {
    if (!connected() || !receives(state())) return context.counters.rp_cnp_ignored.add();
    // Accept it only from the peer; a CNP has the default P_Key in every partition (annex A17).
    if (!link::answers(packet.frame(), packet.arrival, qp_.envelope)) return context.counters.rx_dropped_source.add();
    if (rate_ == nullptr) rate_ = std::make_unique<RateControl>(*dcqcn_);  // at the first CNP
    rate_->dcqcn.cnp(context.now);
    context.counters.rp_cnp_handled.add();
}

unsigned TransportQueuePair::transmit(PollContext& context, unsigned budget) noexcept {
    if (state() == QueuePairState::error || state() == QueuePairState::sqe) {
        flush(context);
        return 0;
    }
    if (!receives(state())) return 0;
    const bool paced = rate_ != nullptr && rate_->dcqcn.limited();
    const auto sent = paced ? transmit_paced(context, budget) : transmit_unpaced(context, budget);
    if (state() == QueuePairState::sqd && !drain_reported_ && requester_drained()) {
        drain_reported_ = true;
        context.emit({.kind = AsyncEventKind::send_queue_drained, .qpn = qp_.qpn});
    }
    return sent;
}

unsigned TransportQueuePair::transmit_unpaced(PollContext& context, unsigned budget) noexcept {
    unsigned sent = 0;
    if (auto* const rc = std::get_if<RcResponder>(&responder_); rc != nullptr && rc->owes()) {
        sent = rc->transmit(context, budget);
        if (rc->failed()) check_responder(context);
    }
    if (sent == budget || !sends(state()) || !has_work()) return sent;
    if (auto* const rc = rc_requester()) {
        sent += rc->transmit(context, budget - sent);
    } else if (auto* const other = unreliable()) {
        sent += other->transmit(context, budget - sent);
    }
    check_requester(context);
    qp_.send_queue.release();
    return sent;
}

unsigned TransportQueuePair::transmit_paced(PollContext& context, unsigned budget) noexcept {
    auto& rate = *rate_;
    rate.dcqcn.advance(context.now);
    unsigned sent = 0;
    while (sent < budget && context.now >= rate.pacer.ready_at()) {
        const auto before = context.counters.tx_bytes.value();
        if (transmit_unpaced(context, 1) == 0) {
            rate.paced_until = 0;
            return sent;
        }
        ++sent;
        const auto bytes = static_cast<std::uint32_t>(context.counters.tx_bytes.value() - before);
        rate.pacer.sent(bytes, rate.dcqcn.rate_bps(), context.now);
        rate.dcqcn.sent(bytes, context.now);
    }
    rate.paced_until = sent < budget ? rate.pacer.ready_at() : 0;
    return sent;
}

bool TransportQueuePair::on_time(PollContext& context) noexcept {
    const bool paced = rate_ != nullptr && rate_->paced_until != 0;
    if (paced && context.now >= rate_->paced_until) rate_->paced_until = 0;
    auto* const responder = std::get_if<RcResponder>(&responder_);
    const bool keeps = responder != nullptr && responder->deadline() != 0;
    if (keeps) responder->on_time(context);
    auto* const rc = rc_requester();
    if (!has_work() || rc == nullptr || !sends(state())) return paced || keeps;
    const auto due = rc->deadline();
    if (due != 0 && context.now >= due) {
        rc->on_time(context);
        check_requester(context);
        qp_.send_queue.release();
    }
    return true;
}

Time TransportQueuePair::due() const noexcept {
    const auto* const rc = rc_requester();
    const auto due = rc != nullptr && sends(state()) && has_work() ? rc->deadline() : 0;
    const auto* const responder = std::get_if<RcResponder>(&responder_);
    const auto kept_until = responder != nullptr ? responder->deadline() : 0;
    return earlier(earlier(due, rate_ != nullptr ? rate_->paced_until : 0), kept_until);
}

void TransportQueuePair::check_requester(PollContext& context) noexcept {
    if (const auto* const rc = rc_requester()) {
        if (rc->failed()) enter_error(context);
        return;
    }
    const auto* const other = unreliable();
    if (other == nullptr || !other->failed() || state() == QueuePairState::sqe || state() == QueuePairState::error)
        return;
    state_.store(QueuePairState::sqe, std::memory_order_release);
    flush(context);
}

void TransportQueuePair::check_responder(PollContext& context) noexcept {
    std::optional<AsyncEventKind> event;
    bool failed = false;
    if (const auto* const rc = std::get_if<RcResponder>(&responder_)) {
        failed = rc->failed();
        if (failed) event = rc->event();
    } else if (const auto* const uc = std::get_if<UcResponder>(&responder_)) {
        failed = uc->failed();
    } else if (const auto* const ud = std::get_if<UdResponder>(&responder_)) {
        failed = ud->failed();
    }
    if (!failed || state() == QueuePairState::error) return;
    if (event) context.emit({.kind = *event, .qpn = qp_.qpn});
    enter_error(context);
}

void TransportQueuePair::enter_error(PollContext& context) noexcept {
    if (state() == QueuePairState::error) return;
    state_.store(QueuePairState::error, std::memory_order_release);
    flush(context);
    if (qp_.shared != nullptr || type_ == QueuePairType::xrc_target) {
        context.emit({.kind = AsyncEventKind::last_wqe_reached, .qpn = qp_.qpn});
    }
}

void TransportQueuePair::flush(PollContext& context) noexcept {
    if (auto* const rc = rc_requester()) rc->flush(context);
    if (auto* const other = unreliable()) other->flush(context);
    qp_.send_queue.release();
    if (state() != QueuePairState::error) return;  // SQE: only the send queue
    cancel();
    if (auto* const rc = std::get_if<RcResponder>(&responder_)) rc->flush(context);
    if (auto* const uc = std::get_if<UcResponder>(&responder_)) uc->flush(context);
    if (auto* const ud = std::get_if<UdResponder>(&responder_)) ud->flush(context);
}

}  // namespace verbline::transport
