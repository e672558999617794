// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// One shard's transport engine: the queue pairs that it owns, its queue of the device, and the poll that joins them.
///
///               frames of others      ┌──────────────────────── Engine ───────────────────────┐
///     device ──> rx_burst ────────────┤ open, parse ──> QPN ──> QueuePair::receive            │
///     other shards ──> inbox ─────────┤                             │ has something to send   │
///     itself ──> loopback ────────────┤                             ▼                         │
///     users ──> doorbell ring ────────┤ ─────────────────────> active list ──> ::transmit ────┼──> Outbox ──> tx_burst
///     time ──> wheel ─────────────────┤ QueuePair::on_time ────────▲                          │
///                                     └───────────────────────────────────────────────────────┘
///
/// QPNs say whose they are: the lower bits are the shard's number. A packet that the device gave to the wrong shard is
/// handed over by ring, and counted. Multicast goes to every shard.
///
/// Threads: `poll` by the shard's; `ring` by any; `deliver` by other shards; the rest while the door is held.

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "datapath/link/arrival.h"
#include "datapath/rdma/door.h"
#include "datapath/timer/wheel.h"
#include "datapath/transport/queue_pair.h"
#include "pmd/base/error.h"
#include "pmd/netdev.h"

struct rte_ring;

namespace verbline::rdma {

class Engine {
public:
    struct Setup {
        std::string name;  ///< unique in the process
        unsigned shard = 0, shards = 1;
        pmd::NetDevice* device = nullptr;
        std::uint16_t queue = 0;
        rte_mempool* pool = nullptr;  ///< frames that we send, and copies of received ones that are not contiguous
        memory::KeyTable* keys = nullptr;
        const congestion::DcqcnParameters* dcqcn = nullptr;
        transport::EventHandler on_event;
        std::uint32_t max_queue_pairs = 1 << 17;  ///< one of them for general services
        std::uint32_t max_kept_packets = 4096;    ///< that arrived early, of all queue pairs; fewer than `pool` has
        std::uint32_t first_slot = 0;             ///< QPNs begin behind it
        Time start = 0;
    };

    static Result<std::unique_ptr<Engine>> create(const Setup& setup);
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    unsigned shard() const { return setup_.shard; }
    Door& door() { return door_; }

    /// One round: receives a burst, does what users asked for and what is due, sends. True if there was anything to do.
    /// `now` never goes back. Does nothing while the door is held.
    bool poll(Time now) noexcept;
    /// When there will be something to do although nothing arrives and nobody posts; none: never.
    std::optional<Time> next_deadline() noexcept;

    /// Something was posted to this queue pair.
    void ring(transport::QueuePair& pair) noexcept;
    /// A frame for one of our queue pairs, or for a group. False: no room.
    bool deliver(rte_mbuf* frame) noexcept;
    void set_peers(std::vector<Engine*> engines) { peers_ = std::move(engines); }

    // While the door is held.

    /// The number of the next queue pair; 0: all are taken. Never that of general services, whose place is kept free.
    wire::Qpn allocate_qpn() noexcept;
    void add(transport::QueuePair& pair);
    void remove(transport::QueuePair& pair);
    void attach(const wire::Gid& group, transport::QueuePair& pair);
    void detach(const wire::Gid& group, transport::QueuePair& pair);
    void set_address(const wire::MacAddress& mac) { outbox_.set_address(mac); }
    /// Runs `change(Turn&)` as a turn between two polls, and tells users what it completed.
    template <class Change>
    void between_polls(Change&& change) {
        change(turn_);
        notify();
    }

    transport::QueuePair* find(wire::Qpn qpn) const noexcept;
    const transport::Counters& counters() const { return counters_; }
    void visit_counters(const CounterVisitor& visit) const;

private:
    struct FreeRing {
        void operator()(rte_ring* ring) const;
    };
    using RingPointer = std::unique_ptr<rte_ring, FreeRing>;

    Engine(const Setup& setup, RingPointer doorbells, RingPointer inbox);

    bool receive_all() noexcept;
    void receive_burst(pmd::Burst frames, bool handed_over) noexcept;
    static constexpr std::size_t opened_at_once = 16;
    /// A packet that has been checked, and where the queue pair would be that it is for.
    struct Arrived {
        transport::Packet packet;
        transport::QueuePair** pair = nullptr;
    };
    /// Checks frames; those that are no packets for us go to `done`. Returns how many are left in `out`.
    std::size_t open(pmd::Burst frames, std::span<Arrived> out, std::span<rte_mbuf*> done,
                     unsigned& done_count) noexcept;
    void count_fault(transport::PacketFault fault) noexcept;
    /// True: the mbuf was kept, or passed on.
    bool receive(const Arrived& arrived, bool handed_over) noexcept;
    bool hand_over(rte_mbuf& frame, unsigned shard) noexcept;
    bool multicast(const transport::Packet& packet, bool handed_over) noexcept;
    rte_mbuf* contiguous(rte_mbuf* frame) noexcept;
    void reserve_for_receive() noexcept;
    bool answer_doorbells() noexcept;
    bool transmit() noexcept;
    void activate(transport::QueuePair& pair) noexcept;
    void await_flight(transport::QueuePair& pair) noexcept;
    void resume_flight() noexcept;
    transport::QueuePair* next_active() noexcept;
    void arm(transport::QueuePair& pair) noexcept;
    void notify() noexcept;
    std::size_t slot_of(wire::Qpn qpn) const noexcept;

    Setup setup_;
    Door door_;
    transport::Counters counters_;
    CountersBy<link::Discard> discards_;
    RingPointer doorbells_, inbox_;
    std::vector<Engine*> peers_;

    timer::Wheel wheel_;
    transport::Outbox outbox_;
    transport::ReorderPool reorder_;
    transport::ResendPool resend_;
    transport::Turn turn_;

    unsigned shard_bits_;
    std::vector<transport::QueuePair*> slots_;
    std::uint32_t next_slot_ = 1;
    std::map<wire::Gid, std::vector<transport::QueuePair*>> groups_;
    transport::QueuePair* active_first_ = nullptr;
    transport::QueuePair* active_last_ = nullptr;
    transport::QueuePair* waiting_first_ = nullptr;
    transport::QueuePair* waiting_last_ = nullptr;
    std::vector<rte_mbuf*> looped_;
    std::array<Arrived, opened_at_once> opened_{};  ///< of the burst in hand
};

}  // namespace verbline::rdma
