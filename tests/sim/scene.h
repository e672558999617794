// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What the parts of one simulated schedule share: hosts with their memory, everything that was ever posted, and the
/// first thing that was wrong.

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "tests/sim/arena.h"
#include "tests/sim/atomic_word.h"
#include "tests/sim/plan.h"
#include "tests/sim/transport_simulation.h"

namespace verbline::sim {

class Side;
struct Board;
struct Window;

/// A request to send, whatever the operation; what it was made of is kept until it is known what became of it.
struct Message {
    MessageId id = 0;
    Side* from = nullptr;
    Side* to = nullptr;  ///< none: multicast, or to an end that must not get it
    transport::SendOperation operation{};
    std::uint32_t size = 0;
    bool signalled = false, solicited = false, fenced = false;
    bool finished = false, succeeded = false;
    unsigned epoch = 0;  ///< of the sender's connection
    std::uint32_t shared_number = 0;
    Pieces local;             ///< where it comes from or, of a READ or atomic, goes to
    Block* remote = nullptr;  ///< what is written or read over there
    Board* board = nullptr;
    std::size_t board_index = 0;  ///< of the write, or of the last one before the READ
    AtomicWord* word = nullptr;
    std::uint64_t compare = 0, operand = 0;
    Window* window = nullptr;
    std::uint32_t key = 0;  ///< invalidated, here or at the peer
    unsigned fences = 0;    ///< READ: fenced requests posted before or with it
    transport::Status wanted = transport::Status::success;
    unsigned delivered = 0;

    bool sends() const { return operation <= transport::SendOperation::send_with_invalidate; }
    bool has_immediate() const {
        return operation == transport::SendOperation::send_with_immediate ||
               operation == transport::SendOperation::write_with_immediate;
    }
    bool writes() const {
        return operation == transport::SendOperation::write ||
               operation == transport::SendOperation::write_with_immediate;
    }
    bool consumes() const { return sends() || operation == transport::SendOperation::write_with_immediate; }
};

/// A piece of a peer's memory that one connection writes to again and again, and reads.
struct Board {
    struct Write {
        MessageId id;
        unsigned fences;  ///< fenced requests posted before or with it
    };
    Block* block = nullptr;
    std::uint32_t size = 0;
    std::vector<Write> writes;
    std::size_t settled = 0;  ///< writes that are known to be done

    /// What it may hold after the first `from` writes, as far as writes fenced from a READ are excluded.
    std::vector<MessageId> candidates(std::size_t from, unsigned fences) const {
        std::vector<MessageId> ids{from == 0 ? 0 : writes[from - 1].id};
        for (auto i = from; i < writes.size() && writes[i].fences <= fences; ++i) ids.push_back(writes[i].id);
        return ids;
    }
};

struct Window {
    enum class State : std::uint8_t { idle, busy, bound, used };
    std::optional<rdma::MemoryWindow> handle;
    wire::RKey key{};
    Block* block = nullptr;
    State state = State::idle;
};

class Reservoir;

struct Receive {
    Reservoir* of = nullptr;
    Pieces pieces;
};

/// Memory that must be, at the end, untouched or what a message that failed may have made of it.
struct Limbo {
    Block* block;
    std::uint32_t size;
    std::vector<MessageId> ids;
};

/// A host as its programs see it.
struct Node {
    Node();
    ~Node();

    Host* host = nullptr;
    std::array<std::unique_ptr<Arena>, 2> arenas;  ///< of two protection domains
    std::vector<std::unique_ptr<transport::CompletionQueue>> queues;
    std::array<std::unique_ptr<rdma::SharedReceiveQueue>, 2> shared;  ///< of each domain
    std::array<std::optional<rdma::XrcDomain>, 2> domains;
    std::array<std::unique_ptr<rdma::SharedReceiveQueue>, 2> xrc_shared;
    std::array<std::unique_ptr<Reservoir>, 2> shared_reservoirs, xrc_reservoirs;
    std::array<std::deque<AtomicWord>, 2> words;
    std::unordered_map<std::uint32_t, Side*> sides;  ///< by QPN
};

struct Scene {
    Scene(Seed seed, bool tracing)
        : random(Seed{~static_cast<std::uint64_t>(seed)}), plan(make_plan(seed)), trace(tracing) {}

    template <class... Args>
    void say(fmt::format_string<Args...> format, Args&&... args) const {
        if (trace) fmt::print("{:>12} {}\n", now, fmt::format(format, std::forward<Args>(args)...));
    }
    /// The first is the one that counts.
    template <class... Args>
    void fail(fmt::format_string<Args...> format, Args&&... args) {
        if (!fault.empty()) return;
        fault = fmt::format("{} ns: {}", now, fmt::format(format, std::forward<Args>(args)...));
        say("FAULT {}", fault);
    }
    Message& message(MessageId id) { return messages[id - 1]; }

    Random random;
    const Plan plan;
    bool trace;
    Time now = 0;
    std::deque<Node> nodes;
    std::deque<Message> messages;
    std::unordered_map<std::uint64_t, Receive> receives;
    std::uint64_t next_receive = std::uint64_t{1} << 63;
    std::vector<Limbo> limbo;
    std::vector<Side*> datagram_sides;
    unsigned resets = 0;  ///< of queue pairs that had not failed before: receives may vanish
    SimulationSummary summary;
    std::string fault;
};

}  // namespace verbline::sim
