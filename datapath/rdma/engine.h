// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// One shard's transport engine: the queue pairs it owns, its queue of the network device, and the poll loop over both.
///
///               frames of others      ┌──────────────────────── Engine ───────────────────────┐
///     device ──> rx_burst ────────────┤ open ──> QPN ──> verify ──> QueuePair::receive        │
///     other shards ──> inboxes ───────┤                             │ has something to send   │
///     itself ──> loopback ────────────┤                             ▼                         │
///     users ──> doorbell ring ────────┤ ─────────────────────> active list ──> ::transmit ────┼──> TxStage
///     its thread ──> send ────────────┤ ───────────────────────────▲                          │
///     time ──> wheel ─────────────────┤ QueuePair::on_time ────────▲                          │
///                                     └───────────────────────────────────────────────────────┘
///
/// The low bits of a QPN are the number of the shard that owns it. A packet that arrives at another shard is handed
/// over, as it is, through the ring from that shard to its own, and counted (rx_handed_over): its owner verifies it.
/// Multicast packets are passed to every shard. A full ring drops: a shard that is not polled stops no other.
///
/// Threads: `poll`, `send` and `next_deadline` by the shard's; `ring` by any; the rest while the gate is held.

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "datapath/link/arrival.h"
#include "datapath/link/member.h"
#include "datapath/timer/wheel.h"
#include "datapath/transport/queue_pair.h"
#include "pmd/base/error.h"
#include "pmd/netdev.h"
#include "pmd/rss/handover_ring.h"
#include "pmd/shard/quiescent_gate.h"

struct rte_ring;

namespace verbline::rdma {

using pmd::QuiescentGate;

/// Beside transport::Counters.
#define VERBLINE_ENGINE_COUNTERS(X)                                                      \
    X(rx_bursts, "bursts received from the device, packets for other shards among them") \
    X(rx_burst_packets, "packets in these bursts")

struct EngineCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_ENGINE_COUNTERS)
};

class Engine {
public:
    struct Setup {
        std::string name;  ///< unique in the process
        unsigned shard = 0, shards = 1;
        pmd::NetDevice* device = nullptr;
        std::uint16_t queue = 0;
        rte_mempool* pool = nullptr;  ///< for frames to send, and for copies of received frames in several segments
        memory::KeyTable* keys = nullptr;
        const congestion::DcqcnParameters* dcqcn = nullptr;
        transport::AsyncEventHandler on_event;
        std::uint32_t max_queue_pairs = 1 << 17;  ///< including QP1
        std::uint32_t max_kept_packets = 4096;    ///< kept for reordering, in total; below the size of `pool`
        std::uint32_t first_slot = 0;             ///< QPNs are allocated from the slot after it
        std::optional<link::MemberId> member;     ///< QPNs are of its range, but for those of targets it shares
        Time start = 0;
    };

    static Result<std::unique_ptr<Engine>> create(const Setup& setup);
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    unsigned shard() const { return setup_.shard; }
    QuiescentGate& gate() { return gate_; }

    /// One poll: receives a burst, serves doorbells and expired timers, transmits, notifies completion queues. Returns
    /// true if there was work. `now` must not go back. Returns false at once while the gate is held.
    bool poll(Time now) noexcept;
    /// The same after requests were published to this queue pair's send queue, without a doorbell: transmits before it
    /// receives. While the gate is held it rings the doorbell, for the next poll, and returns false.
    bool send(transport::TransportQueuePair& pair, Time now) noexcept;
    /// When `poll` must run next even if no packet arrives and nothing is posted; nullopt: no timer is armed. Returns
    /// the time of the last poll, i.e. now, if work is pending or the gate is held.
    std::optional<Time> next_deadline() noexcept;

    /// Doorbell: requests were published to this queue pair's send queue, or its state was changed.
    void ring(transport::TransportQueuePair& pair) noexcept;
    /// Before the first poll: makes the rings from this shard to all others of the device. `engines`: by shard.
    Result<void> connect(std::span<Engine* const> engines);

    // While the gate is held.

    /// A free QPN for the next queue pair, so many slots after the one before; 0 if all are taken. Never QP1, nor one
    /// that shares its slot.
    wire::Qpn allocate_qpn(std::uint32_t ahead = 1) noexcept;
    /// Whether a queue pair of this number can be added: none has its slot.
    bool is_free(wire::Qpn qpn) const noexcept { return slots_[slot_of(qpn)] == nullptr; }
    void add(transport::TransportQueuePair& pair);
    void remove(transport::TransportQueuePair& pair);
    void attach(const wire::Gid& group, transport::TransportQueuePair& pair);
    void detach(const wire::Gid& group, transport::TransportQueuePair& pair);
    void set_address(const wire::MacAddress& mac) { tx_stage_.set_address(mac); }
    /// Soft fabric: another LID, and the MAC address that follows from it.
    void set_lid(wire::Lid lid) {
        tx_stage_.set_address(link::soft_ib::mac_of(lid));
        tx_stage_.set_source(lid);
    }
    void set_pkeys(std::span<const wire::PKey> pkeys);
    /// Runs `change(PollContext&)` between two polls, then notifies the completion queues it has pushed to.
    template <class Change>
    void between_polls(Change&& change) {
        change(context_);
        notify();
    }

    transport::TransportQueuePair* find(wire::Qpn qpn) const noexcept;
    const transport::RdmaCounters& counters() const { return counters_; }
    void visit_counters(const CounterVisitor& visit) const;

private:
    struct FreeRing {
        void operator()(rte_ring* ring) const;
    };
    using RingPointer = std::unique_ptr<rte_ring, FreeRing>;

    /// What one burst has for another shard, and the ring that leads there.
    struct Outbox {
        pmd::HandoverRing ring;
        std::array<rte_mbuf*, pmd::max_burst> packets{};
        std::uint16_t count = 0;
    };

    Engine(const Setup& setup, RingPointer doorbells);

    bool poll_sources() noexcept;
    bool receive_all() noexcept;
    void receive_burst(pmd::Burst frames, bool handed_over) noexcept;
    static constexpr std::size_t opened_at_once = 16;
    /// A checked packet and the table slot of its destination QPN.
    struct Arrived {
        transport::Packet packet;
        transport::TransportQueuePair** pair = nullptr;
    };
    /// Checks and parses frames; rejected ones go to `done`, to be freed. Returns the number of packets in `out`.
    std::size_t open(pmd::Burst frames, bool handed_over, std::span<Arrived> out, std::span<rte_mbuf*> done,
                     unsigned& done_count) noexcept;
    Outbox* outbox_of(wire::Qpn destination) noexcept;
    void count_fault(transport::PacketFault fault) noexcept;
    /// Returns true if ownership of the mbuf has passed on; else the caller frees it.
    bool receive(const Arrived& arrived, bool handed_over) noexcept;
    void put(Outbox& outbox, rte_mbuf* frame) noexcept;
    void flush(Outbox& outbox) noexcept;
    bool multicast(const transport::Packet& packet, bool handed_over) noexcept;
    rte_mbuf* contiguous(rte_mbuf* frame) noexcept;
    void reserve_for_receive() noexcept;
    bool answer_doorbells() noexcept;
    bool transmit() noexcept;
    void activate(transport::TransportQueuePair& pair) noexcept;
    void await_flight(transport::TransportQueuePair& pair) noexcept;
    void resume_flight() noexcept;
    transport::TransportQueuePair* next_active() noexcept;
    void arm(transport::TransportQueuePair& pair) noexcept;
    void notify() noexcept;
    std::size_t slot_of(wire::Qpn qpn) const noexcept;

    Setup setup_;
    QuiescentGate gate_;
    transport::RdmaCounters counters_;
    EngineCounters bursts_;
    CountersBy<link::Discard> discards_;
    RingPointer doorbells_;
    std::vector<std::unique_ptr<Outbox>> outboxes_;  ///< by shard; null: its own. Empty: it is the only one
    std::vector<pmd::HandoverRing*> inboxes_;        ///< from every other

    timer::Wheel wheel_;
    transport::TxStage tx_stage_;
    transport::ReorderPool reorder_;
    transport::ResendPool resend_;
    transport::PollContext context_;

    unsigned shard_bits_;
    std::vector<transport::TransportQueuePair*> slots_;
    std::uint32_t next_slot_ = 1;
    std::uint32_t first_free_slot_, end_of_slots_;  ///< of QPNs that may be allocated
    std::map<wire::Gid, std::vector<transport::TransportQueuePair*>> groups_;
    transport::TransportQueuePair* active_first_ = nullptr;
    transport::TransportQueuePair* active_last_ = nullptr;
    transport::TransportQueuePair* waiting_first_ = nullptr;
    transport::TransportQueuePair* waiting_last_ = nullptr;
    std::vector<rte_mbuf*> looped_;
    std::array<Arrived, opened_at_once> opened_{};  ///< scratch for the burst being processed
};

}  // namespace verbline::rdma
