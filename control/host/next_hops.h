// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Resolves Ethernet addresses of next hops without blocking the caller: `resolve` starts it, `find` reads the result
/// later.
///
///     find ─────┬── our own ARP and ND (NeighbourDevice)
///               └── answers of the last seconds, of the kernel or of the port's node
///     resolve ──┬── NeighbourDevice solicits, and repeats it ──────────────────────────┬──> on_answer
///               └── queue ──> resolver, a thread that waits for an answer ──> answer ──┘
///
/// Both repeat their solicitations themselves, and give up after `resolution_timeout`. The resolver starts with the
/// first query. Each query gets a fraction of a second at a time, so that hosts which do not answer delay the others
/// only briefly.
///
/// Threads: any.

#include <condition_variable>
#include <deque>
#include <expected>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "datapath/neighbour/device.h"
#include "datapath/neighbour/neighbours.h"
#include "pmd/base/counter.h"
#include "pmd/base/error.h"
#include "pmd/base/quiet_thread.h"
#include "pmd/base/time.h"

namespace verbline::host {

#define VERBLINE_NEXT_HOP_COUNTERS(X)                                           \
    X(next_hop_queries, "next hops queried from the kernel, or from the node")  \
    X(next_hop_queries_dropped, "queries dropped because too many were queued") \
    X(next_hop_failures, "queries without an answer, or not in time")
struct NextHopCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_NEXT_HOP_COUNTERS)
};

class NextHops {
public:
    static constexpr std::size_t max_queries = 1024;
    static constexpr std::size_t max_answers = 4096;
    static constexpr Time answer_lifetime = 5 * second, failure_lifetime = second;  ///< of the kernel's or the node's
    /// As of our own neighbour engine; the kernel's three solicitations, a second apart, take about as long.
    static constexpr Time resolution_timeout = neighbour::Neighbours::parameters.resolution_timeout();

    /// Blocks until there is an answer, for `timeout` at most. ETIMEDOUT: ask again.
    using Query = std::function<Result<wire::MacAddress>(const wire::Gid& from, const wire::Gid& to, Time timeout)>;

    NextHops() = default;
    /// Whom to ask, before the first call: our own discovery, which outlives the object, or else `query`.
    void use(neighbour::NeighbourDevice* neighbours, Query query) {
        neighbours_ = neighbours;
        query_ = std::move(query);
    }
    NextHops(const NextHops&) = delete;
    NextHops& operator=(const NextHops&) = delete;

    std::optional<wire::MacAddress> find(const wire::Gid& from, const wire::Gid& to);
    /// Starts resolution, and does not block. Dropped if too many wait: `resolving` is then false.
    void resolve(const wire::Gid& from, const wire::Gid& to);
    /// It was passed to `resolve`, and has neither been found nor failed.
    bool resolving(const wire::Gid& from, const wire::Gid& to);
    /// Why the last query has failed, an errno value, if that is not long ago; 0: it has not. Our own discovery does
    /// not say so: who has asked it gives up after `resolution_timeout`.
    int failure_of(const wire::Gid& from, const wire::Gid& to);
    /// Sets the callback for possible answers to `resolve`, and for failures; it must neither block nor call back.
    void on_answer(std::function<void()> notify);

    void counters(const CounterVisitor& visit) const { counters_.each(visit); }

private:
    using Question = std::pair<wire::Gid, wire::Gid>;  ///< our address, the peer's
    struct Asked {
        Question question;
        Time give_up = 0;
    };
    struct Answer {
        std::expected<wire::MacAddress, int> mac;  ///< or why there is none
        Time until = 0;
    };

    bool waits(const Question& question) const;
    void resolve(const std::stop_token& stop);
    bool answer(const Asked& asked, const Result<wire::MacAddress>& mac);
    const Answer* valid_answer(const Question& question) const;

    neighbour::NeighbourDevice* neighbours_ = nullptr;
    Query query_;
    NextHopCounters counters_;  ///< under the mutex
    std::mutex mutex_;          ///< of the members below
    std::map<Question, Answer> answers_;
    std::deque<Asked> asked_;
    std::optional<Question> resolving_;  ///< by the resolver, now
    std::function<void()> notify_;
    std::condition_variable_any more_;
    QuietThread resolver_;  ///< destroyed first
};

}  // namespace verbline::host
