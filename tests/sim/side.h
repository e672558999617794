// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The program at one end of a connection, and its memory of what it asked for: what it may be told follows from that.

#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "tests/sim/reservoir.h"
#include "tests/sim/scene.h"

namespace verbline::sim {

class Side {
public:
    static constexpr std::uint32_t route_header = 40;  ///< stands before what a datagram's receiver gets

    Side(Scene& scene, Node& node, const PairPlan& plan, unsigned half);

    // The queue pair's life.
    void create();
    void connect(World& world, const Side& peer, wire::Psn send_first, wire::Psn receive_first);
    void destroy();
    void reset();
    void error();
    bool ready() const { return pair_ != nullptr && pair_->state() == transport::QueuePairState::rts; }

    // The program.
    /// False: nothing is to be posted now.
    bool post_one();
    void post_last();
    /// Receives that must be flushed at once.
    void post_in_error();
    bool wants_to_post() const { return left_ > 0 || !last_posted_; }
    void give_up() { left_ = 0, last_posted_ = true; }

    // What it is told.
    void completed(const transport::Completion& completion);
    void received(const transport::Completion& completion, Pieces& pieces, Reservoir& reservoir);

    /// Everything posted is complete, and what reached the peer was seen there.
    void check_quiet();
    /// Once all completions so far have been seen.
    void check_flushed();
    /// What a connection that ends leaves: forgets it, checks what can be.
    void end_epoch();

    transport::QueuePairType type() const { return type_; }
    bool sends() const { return type_ != transport::QueuePairType::xrc_target; }
    bool reliable() const { return type_ != transport::QueuePairType::uc && type_ != transport::QueuePairType::ud; }
    wire::Qpn qpn() const { return pair_->qpn(); }
    rdma::QueuePair* pair() { return pair_.get(); }
    std::string name() const;

    Scene& scene;
    Node& node;
    const PairPlan& plan;
    const unsigned half;
    Side* peer = nullptr;
    bool broken = false;        ///< the connection has come to an end, for a reason that the program knows
    bool killed = false;        ///< this end by the program itself
    bool failed = false;        ///< a request has failed
    std::deque<Message*> sent;  ///< not known to be complete
    std::map<std::uint32_t, std::deque<Message*>> due;  ///< to be received, in this order; by shared queue
    std::unique_ptr<Reservoir> own;                     ///< its receives, unless shared
    unsigned domain;                                    ///< protection domain, of the node's two
    wire::QKey qkey{0x11};

private:
    struct Draft;
    void choose(Draft& draft);
    void draft_send(Draft& draft);
    void draft_write(Draft& draft);
    void draft_board_write(Draft& draft);
    void draft_read(Draft& draft);
    void draft_atomic(Draft& draft);
    void draft_atomic_write(Draft& draft);
    void draft_flush(Draft& draft);
    void draft_datagram(Draft& draft);
    bool draft_window(Draft& draft);
    void draft_mistake(Draft& draft);
    bool post(Draft& draft);
    void undo(Draft& draft);
    void commit(Message& message);
    std::uint32_t any_size();

    void finish(Message& message, bool ok);
    void finish_write(Message& message, bool ok);
    void finish_read(Message& message, bool ok);
    void finish_window(Message& message, bool ok);
    bool permitted(const Message& message, transport::Status status) const;
    Message* find_unreliable(const transport::Completion& completion, const Pieces& pieces);
    Message* next_due(const transport::Completion& completion, const Reservoir& reservoir);
    Arena& arena() const { return *node.arenas[domain]; }

    transport::QueuePairType type_;
    std::unique_ptr<rdma::QueuePair> pair_;
    std::uint32_t left_;
    bool last_posted_ = false;
    bool posting_in_error_ = false;
    bool flushed_ = false;  ///< receives were
    unsigned epoch_ = 0, fences_ = 0;
    std::deque<Board> boards_;  ///< at the peer; all there ever were
    std::size_t first_board_ = 0;
    std::deque<Window> windows_;  ///< ours
    std::size_t first_window_ = 0;
    std::deque<link::Envelope> envelopes_;
    World* world_ = nullptr;
};

}  // namespace verbline::sim
