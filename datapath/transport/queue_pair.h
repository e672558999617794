// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A queue pair: a requester, a responder, and their common state (IBTA volume 1, 10.3).
///
///     RESET ──> INIT ──> RTR ──> RTS <──> SQD          a failure: UC and UD requesters to SQE, all else to ERROR
///       ▲                                  │
///       └───────────── from every state ───┴──> ERROR ──> everything posted completes as flushed
///
///     type              requester              responder
///     rc                RcRequester            RcResponder
///     xrc_initiator     RcRequester            -
///     xrc_target        -                      RcResponder, receive queue by the number in each request
///     uc                UnreliableRequester    UcResponder
///     ud                UnreliableRequester    UdResponder
///
/// Owned by one shard, which calls the functions that take a `PollContext`. Users post (one thread at a time,
/// lock-free), and change the state while the shard is quiescent (pmd/shard/quiescent_gate.h).

#include <atomic>
#include <cstdint>
#include <expected>
#include <optional>
#include <variant>

#include "datapath/congestion/cnp.h"
#include "datapath/congestion/dcqcn.h"
#include "datapath/congestion/pacer.h"
#include "datapath/timer/timer.h"
#include "datapath/transport/queue_pair_context.h"
#include "datapath/transport/rc_requester.h"
#include "datapath/transport/rc_responder.h"
#include "datapath/transport/uc_responder.h"
#include "datapath/transport/ud_responder.h"
#include "datapath/transport/unreliable_requester.h"

namespace verbline::transport {

enum class QueuePairType : std::uint8_t { rc, uc, ud, xrc_initiator, xrc_target };

/// Values of ibv_qp_state.
enum class QueuePairState : std::uint8_t { reset, init, rtr, rts, sqd, sqe, error };

class TransportQueuePair : public timer::Timer {
public:
    struct Setup {
        QueuePairType type{};
        wire::Qpn qpn{};
        memory::PdId pd{};
        SendQueue::Limits send{};
        ReceiveQueue::Limits receive{};        ///< ignored with `shared` and for XRC
        SharedReceiveQueue* shared = nullptr;  ///< must outlive the queue pair, like the two below
        CompletionQueue* send_completions = nullptr;
        CompletionQueue* receive_completions = nullptr;
        bool signal_all = false;
        std::uint32_t xrc_domain = 0;  ///< XRC target
        XrcQueues* xrc_queues = nullptr;
    };

    struct InitAttributes {
        memory::Access access{};  ///< rights granted to the peer; RC, UC, XRC target
        wire::PKey pkey{0xffff};
        std::uint16_t pkey_index = 0;
        wire::QKey qkey{};  ///< UD; ignored for QP1, whose Q_Key is fixed
    };
    struct RtrAttributes {
        wire::Qpn remote{};
        link::Envelope envelope{};  ///< headers towards the peer; UD: unused, each request has its own
        std::uint8_t mtu_shift = 10;
        RcResponder::Attributes responder{};  ///< UC uses only `first`
        bool selective = false;               ///< both ends support selective_ack.h
        bool produce_credits = false;
    };

    TransportQueuePair(const Setup& setup, const congestion::DcqcnParameters& dcqcn);
    ~TransportQueuePair();

    QueuePairType type() const { return type_; }
    wire::Qpn qpn() const { return qp_.qpn; }
    QueuePairState state() const { return state_.load(std::memory_order_acquire); }
    const QueuePairContext& context() const { return qp_; }

    // User: posting. PostError::invalid: a send request before RTS, a receive request in RESET, or no such queue.
    // Requests posted in ERROR are flushed. Send requests take effect after `publish` and a doorbell (Engine::ring).
    std::expected<void, PostError> post(const SendRequest& request) noexcept;
    std::expected<void, PostError> post(const ReceiveRequest& request) noexcept;
    void publish() noexcept { qp_.send_queue.publish(); }
    void withdraw() noexcept { qp_.send_queue.discard_unpublished(); }

    // User, while the shard is quiescent. The caller checks that the transition is allowed (rdma/queue_pair.h).
    void to_init(const InitAttributes& attributes);
    void to_rtr(const RtrAttributes& attributes);
    void to_rts(const RcRequester::Attributes& attributes);
    void to_error(PollContext& context);
    void to_reset(PollContext& context);
    void drain(bool on) noexcept;  ///< RTS to SQD, SQD and SQE to RTS
    void set_access(memory::Access access) { qp_.access = access; }
    void set_qkey(wire::QKey qkey) { qp_.qkey = qkey; }
    /// The port's P_Key table is another: takes the entry at its index. One that is not there matches nothing.
    void follow(std::span<const wire::PKey> pkeys) {
        qp_.pkey = qp_.pkey_index < pkeys.size() ? pkeys[qp_.pkey_index] : wire::PKey{};
    }
    void set_rnr_timer(std::uint8_t timer);
    /// XRC target: drops references to a shared receive queue that is about to be destroyed. A message in progress to
    /// it is refused at its next packet, like one to a queue that does not exist (annex A14).
    void forget(const SharedReceiveQueue& queue) noexcept;
    void set_retries(const RcRequester::Attributes& attributes);
    /// True in SQD once all requests that were begun have completed.
    bool drained() const noexcept;

    // Shard.

    /// Processes a packet for this queue pair. Returns true if it kept the mbuf; else the caller still owns it.
    bool receive(const Packet& packet, PollContext& context) noexcept;
    void congestion_notified(const Packet& packet, PollContext& context) noexcept;
    /// Sends up to `budget` packets, responses before requests; returns how many.
    unsigned transmit(PollContext& context, unsigned budget) noexcept;
    /// Its timer fired. Returns false if nothing is left to do, now or later: in most cases the awaited answer has
    /// arrived.
    bool on_time(PollContext& context) noexcept;
    /// When `on_time` must be called; 0: never.
    Time due() const noexcept;

    /// Prefetches the whole object; call `prefetch_work`, for the oldest request, once it has arrived.
    void prefetch() const noexcept {
        for (std::size_t at = 0; at < sizeof(TransportQueuePair); at += 64) {
            __builtin_prefetch(reinterpret_cast<const std::byte*>(this) + at, 1);
        }
    }
    /// The part that posting touches.
    void prefetch_post() const noexcept {
        __builtin_prefetch(this, 1);
        __builtin_prefetch(&qp_.send_queue, 1);
    }
    void prefetch_work() const noexcept {
        if (qp_.send_queue.exists()) qp_.send_queue.prefetch_oldest();
    }

    // Link in the shard's list of queue pairs with work; `rung`: the queue pair is in the doorbell ring.
    TransportQueuePair* next_active = nullptr;
    bool active = false;
    // Link in the shard's list of queue pairs that wait for room (flight.h).
    bool waiting = false;
    TransportQueuePair* next_waiting = nullptr;
    std::atomic<bool> rung{false};

private:
    /// Created at the first CNP received.
    struct RateControl {
        explicit RateControl(const congestion::DcqcnParameters& parameters) : dcqcn(parameters) {}
        congestion::Dcqcn dcqcn;
        congestion::Pacer pacer;
        Time paced_until = 0;
    };

    bool connected() const { return type_ != QueuePairType::ud; }
    bool acceptable(const Packet& packet, PollContext& context) noexcept;
    void note_congestion(const Packet& packet, PollContext& context) noexcept;
    unsigned transmit_unpaced(PollContext& context, unsigned budget) noexcept;
    unsigned transmit_paced(PollContext& context, unsigned budget) noexcept;
    void check_requester(PollContext& context) noexcept;
    void check_responder(PollContext& context) noexcept;
    bool has_work() const noexcept { return qp_.send_queue.exists() && !qp_.send_queue.empty(); }
    void enter_error(PollContext& context) noexcept;
    void flush(PollContext& context) noexcept;
    void make_halves();
    bool requester_drained() const noexcept;

    RcRequester* rc_requester() noexcept { return std::get_if<RcRequester>(&requester_); }
    const RcRequester* rc_requester() const noexcept { return std::get_if<RcRequester>(&requester_); }
    UnreliableRequester* unreliable() noexcept { return std::get_if<UnreliableRequester>(&requester_); }
    const UnreliableRequester* unreliable() const noexcept { return std::get_if<UnreliableRequester>(&requester_); }

    std::atomic<QueuePairState> state_{QueuePairState::reset};
    QueuePairType type_;
    bool established_ = false, drain_reported_ = false;
    std::unique_ptr<RateControl> rate_;
    QueuePairContext qp_;  ///< send queue first: most calls only ask whether there is work
    std::variant<std::monostate, RcRequester, UnreliableRequester> requester_;
    std::variant<std::monostate, RcResponder, UcResponder, UdResponder> responder_;
    congestion::CnpLimiter cnp_limiter_;
    const congestion::DcqcnParameters* dcqcn_;
};
static_assert(sizeof(TransportQueuePair) <= 768,
              "an idle queue pair is to cost at most 1 KiB, with what belongs to it");

}  // namespace verbline::transport
