// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A queue pair: a requester, a responder, and the states they are in together (IBTA volume 1, 10.3).
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
/// Owned by one shard, which calls what takes a `Turn`. Users post (any one thread at a time, lock-free) and change the
/// state while the shard stands still (rdma/door.h).

#include <atomic>
#include <cstdint>
#include <expected>
#include <optional>
#include <variant>

#include "datapath/congestion/cnp.h"
#include "datapath/congestion/dcqcn.h"
#include "datapath/congestion/pacer.h"
#include "datapath/timer/timer.h"
#include "datapath/transport/channel.h"
#include "datapath/transport/rc_requester.h"
#include "datapath/transport/rc_responder.h"
#include "datapath/transport/uc_responder.h"
#include "datapath/transport/ud_responder.h"
#include "datapath/transport/unreliable_requester.h"

namespace verbline::transport {

enum class QueuePairType : std::uint8_t { rc, uc, ud, xrc_initiator, xrc_target };

/// Values of ibv_qp_state.
enum class State : std::uint8_t { reset, init, rtr, rts, sqd, sqe, error };

class QueuePair : public timer::Timer {
public:
    struct Setup {
        QueuePairType type{};
        wire::Qpn qpn{};
        memory::PdId pd{};
        SendQueue::Limits send{};
        ReceiveQueue::Limits receive{};        ///< not with `shared`, nor for XRC
        SharedReceiveQueue* shared = nullptr;  ///< must outlive the queue pair, as the two below
        CompletionQueue* send_completions = nullptr;
        CompletionQueue* receive_completions = nullptr;
        bool signal_all = false;
        std::uint32_t xrc_domain = 0;  ///< XRC target
        XrcQueues* xrc_queues = nullptr;
    };

    struct InitAttributes {
        memory::Access access{};  ///< what the peer may do; RC, UC, XRC target
        wire::PKey pkey{0xffff};
        std::uint16_t pkey_index = 0;
        wire::QKey qkey{};  ///< UD; QP1 has its own
    };
    struct RtrAttributes {
        wire::Qpn remote{};
        link::Envelope envelope{};  ///< towards the peer; UD: none, every request has its own
        std::uint8_t mtu_shift = 10;
        RcResponder::Attributes responder{};  ///< UC uses `first` alone
        bool selective = false;               ///< both ends said that they know selective_ack.h
        bool produce_credits = false;
    };

    QueuePair(const Setup& setup, const congestion::DcqcnParameters& dcqcn);
    ~QueuePair();

    QueuePairType type() const { return type_; }
    wire::Qpn qpn() const { return channel_.qpn; }
    State state() const { return state_.load(std::memory_order_acquire); }
    const Channel& channel() const { return channel_; }

    // User: posting. Nothing is sent in RESET, INIT and RTR; what is posted in ERROR is flushed. The shard must be told
    // of what was posted (Engine::ring): true if so.
    std::expected<void, PostError> post(const SendRequest& request) noexcept;
    std::expected<void, PostError> post(const ReceiveRequest& request) noexcept;
    void publish() noexcept { channel_.send_queue.publish(); }
    void withdraw() noexcept { channel_.send_queue.discard_unpublished(); }

    // User, while the shard stands still. Transitions are checked by the caller (rdma/queue_pair.h).
    void to_init(const InitAttributes& attributes);
    void to_rtr(const RtrAttributes& attributes);
    void to_rts(const RcRequester::Attributes& attributes);
    void to_error(Turn& turn);
    void to_reset(Turn& turn);
    void drain(bool on) noexcept;  ///< RTS to SQD, SQD and SQE to RTS
    void set_access(memory::Access access) { channel_.access = access; }
    void set_qkey(wire::QKey qkey) { channel_.qkey = qkey; }
    void set_rnr_timer(std::uint8_t timer);
    /// XRC target: a queue of its domain is about to be destroyed. A message under way to it is refused at its next
    /// packet, as one to a queue that does not exist (annex A14).
    void forget(const SharedReceiveQueue& queue) noexcept;
    void set_retries(const RcRequester::Attributes& attributes);
    /// In SQD: all that was begun is done.
    bool drained() const noexcept;

    // Shard.

    /// True: the mbuf was kept.
    bool receive(const Packet& packet, Turn& turn) noexcept;
    void congestion_notified(const Packet& packet, Turn& turn) noexcept;
    /// Sends up to `budget` packets; returns how many.
    unsigned transmit(Turn& turn, unsigned budget) noexcept;
    /// Its timer fired. False: there is nothing to do, not even later (most timers are for answers that have come).
    bool on_time(Turn& turn) noexcept;
    /// When `on_time` is to be called; 0: never.
    Time due() const noexcept;

    /// Asks for all of it from memory; later, for the request that is next.
    void prefetch() const noexcept {
        for (std::size_t at = 0; at < sizeof(QueuePair); at += 64) {
            __builtin_prefetch(reinterpret_cast<const std::byte*>(this) + at, 1);
        }
    }
    /// The part that posting touches.
    void prefetch_post() const noexcept {
        __builtin_prefetch(this, 1);
        __builtin_prefetch(&channel_.send_queue, 1);
    }
    void prefetch_work() const noexcept {
        if (channel_.send_queue.exists()) channel_.send_queue.prefetch_oldest();
    }

    // The shard's list of those that have something to send, and the doorbell that gets one there.
    QueuePair* next_active = nullptr;
    bool active = false;
    // And of those that wait until less is under way (flight.h).
    bool waiting = false;
    QueuePair* next_waiting = nullptr;
    std::atomic<bool> rung{false};

private:
    /// Exists once the network has said that it is congested.
    struct RateControl {
        explicit RateControl(const congestion::DcqcnParameters& parameters) : dcqcn(parameters) {}
        congestion::Dcqcn dcqcn;
        congestion::Pacer pacer;
        Time paced_until = 0;
    };

    bool connected() const { return type_ != QueuePairType::ud; }
    bool acceptable(const Packet& packet, Turn& turn) noexcept;
    void note_congestion(const Packet& packet, Turn& turn) noexcept;
    unsigned transmit_unpaced(Turn& turn, unsigned budget) noexcept;
    unsigned transmit_paced(Turn& turn, unsigned budget) noexcept;
    void check_requester(Turn& turn) noexcept;
    void check_responder(Turn& turn) noexcept;
    bool has_work() const noexcept { return channel_.send_queue.exists() && !channel_.send_queue.empty(); }
    void enter_error(Turn& turn) noexcept;
    void flush(Turn& turn) noexcept;
    void make_halves();
    bool requester_drained() const noexcept;

    RcRequester* rc_requester() noexcept { return std::get_if<RcRequester>(&requester_); }
    const RcRequester* rc_requester() const noexcept { return std::get_if<RcRequester>(&requester_); }
    UnreliableRequester* unreliable() noexcept { return std::get_if<UnreliableRequester>(&requester_); }
    const UnreliableRequester* unreliable() const noexcept { return std::get_if<UnreliableRequester>(&requester_); }

    std::atomic<State> state_{State::reset};
    QueuePairType type_;
    bool established_ = false, drain_told_ = false;
    std::unique_ptr<RateControl> rate_;
    Channel channel_;  ///< its send queue first: whether there is work is all that most turns ask
    std::variant<std::monostate, RcRequester, UnreliableRequester> requester_;
    std::variant<std::monostate, RcResponder, UcResponder, UdResponder> responder_;
    congestion::CnpLimiter cnp_limiter_;
    const congestion::DcqcnParameters* dcqcn_;
};
static_assert(sizeof(QueuePair) <= 768, "an idle queue pair is to cost at most 1 KiB, with what belongs to it");

}  // namespace verbline::transport
