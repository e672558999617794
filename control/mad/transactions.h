// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Requests and their answers over a transport that loses, delays and repeats MADs.
///
///     start ──> queue ──> outstanding (at most 64) ──> Send ... Send ... ──> Done: the answer, or none
///                              ^      tick: repeat, waiting twice as long         ^
///                              └───── received: matched by transaction id ───────┘
///
/// A retransmission is the same MAD, bit for bit: the far end can distinguish it from a new request (IBTA 13.4.6.4).
/// Only the low 32 bits of the transaction id are ours; the kernel and ibsim overwrite the rest. The SA's own queue
/// pair accepts 64 requests at once; a simulated fabric is known to lock up under a thousand.
///
/// Pure: no I/O, no clock, no randomness of its own. Time is the caller's, in nanoseconds.

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "control/mad/transport.h"
#include "pmd/base/counter.h"
#include "pmd/base/time.h"
#include "pmd/base/tunables.h"

namespace verbline::mad {

enum class Ticket : std::uint64_t {};  ///< identifies a transaction; never reused

/// Retransmission parameters, in nanoseconds: the timeout doubles from `timeout` up to `limit` with each of `retries`
/// retries.
struct Patience {
    Time timeout = 200 * millisecond;
    Time limit = 2 * second;
    unsigned retries = 4;
};

#define VERBLINE_TRANSACTION_COUNTERS(X)                                             \
    X(requests, "transactions begun")                                                \
    X(retries, "requests repeated because no answer came in time")                   \
    X(responses, "answers matched to their request")                                 \
    X(timeouts, "transactions failed after the last retransmission")                 \
    X(busy, "responses with status BUSY: the request is repeated later")             \
    X(queue_full, "transactions refused because too many wait")                      \
    X(rx_dropped_duplicate_response, "answers to a request that has had its answer") \
    X(rx_dropped_late_response, "responses to a request that has timed out")         \
    X(rx_dropped_unknown_tid, "responses to no request of ours")                     \
    X(rx_dropped_mismatched_response, "responses whose class or attribute differs from the request's")
struct TransactionCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_TRANSACTION_COUNTERS)
};

class Transactions {
public:
    static constexpr std::size_t max_outstanding = tunables::requests_outstanding,
                                 max_queued = tunables::requests_queued;

    struct Send {
        MadAddress to;
        MadBuffer mad;
        Time reply_within;
    };
    /// No `response`: timed out.
    struct Done {
        Ticket ticket;
        std::optional<MadBuffer> response;
    };
    using Action = std::variant<Send, Done>;
    using Actions = std::vector<Action>;

    /// `first_tid`: random, so that a restarted process does not take its predecessor's answers for its own.
    explicit Transactions(std::uint32_t first_tid) : next_tid_(first_tid) {}

    /// Begins a transaction; overwrites the MAD's transaction id. None: the queue is full.
    std::optional<Ticket> start(const MadBuffer& request, const MadAddress& to, const Patience& patience, Time now,
                                Actions& out);

    /// Call for every received MAD with the response bit.
    void received(MadBytes mad, Time now, Actions& out);
    /// Call at or after `deadline()`.
    void tick(Time now, Actions& out);
    std::optional<Time> deadline() const;

    std::size_t outstanding() const { return outstanding_.size(); }
    std::size_t queued() const { return queue_.size(); }
    const TransactionCounters& counters() const { return counters_; }

private:
    struct Transaction {
        Ticket ticket;
        MadBuffer mad;
        MadAddress to;
        Patience patience;
        unsigned repeats = 0;
        Time wait = 0;
        Time due = 0;
    };
    enum class End : std::uint8_t { none, answered, abandoned };

    void launch(Transaction transaction, Time now, Actions& out);
    void launch_queued(Time now, Actions& out);
    void finish(std::uint32_t tid, End how);
    void count_stray(std::uint32_t tid);

    TransactionCounters counters_;
    std::uint32_t next_tid_;
    std::uint64_t last_ticket_ = 0;
    std::unordered_map<std::uint32_t, Transaction> outstanding_;  ///< by transaction id
    std::set<std::pair<Time, std::uint32_t>> agenda_;             ///< outstanding, by next timeout
    std::deque<Transaction> queue_;
    /// How recent transactions ended, to classify late and duplicate answers.
    std::array<std::pair<std::uint32_t, End>, 1024> recent_{};
};

}  // namespace verbline::mad
