// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Neighbour cache (RFC 4861, 5.1): reachability of neighbours by the states of RFC 4861, 7.3.2, for IPv4 as well.
///
///                 resolve                reply                  `reachable` later
///      (none) ──> INCOMPLETE ──────────> REACHABLE ───────────────────┬───> PROBE: unicast, then multicast
///                   │ no answer: Failed   ^  │ another address seen   │       │ reply: REACHABLE
///                   v                     │  v          `delay` later │       │ no answer: Removed
///                 (none)                  └─ DELAY ───────────────────│──────>┘
///             solicits us ────────────────> STALE <──────────────────┘
///                                             │ `forget` later: (none); resolve: DELAY, PROBE
///
/// Requested entries of Use::maintained take the upper path; all others become STALE once they are not verified.
/// The caller gets Resolved for an address it has requested, and then every change until Failed or Removed.
///
/// Bounded: a full table evicts first the entries that were only learned, then unresolved ones, then the one that
/// changed longest ago; to learn a neighbour, only another that was learned.
///
/// Pure: no I/O, no clock. Time is the caller's.

#include <array>
#include <cstddef>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "datapath/neighbour/action.h"
#include "datapath/neighbour/counters.h"
#include "datapath/neighbour/parameters.h"

namespace verbline::neighbour {

enum class NeighbourState : std::uint8_t { incomplete, reachable, stale, delay, probe };
std::string_view to_string(NeighbourState state);

struct Neighbour {
    wire::Gid address{};
    LinkAddress link;  ///< all zero while incomplete
    NeighbourState state{};
    Time age = 0;  ///< since its last answer, or since it was learnt
};

class Cache {
public:
    struct Solicit {
        wire::Gid address{};
        std::optional<LinkAddress> to;  ///< none: multicast
    };
    using Action = std::variant<Solicit, Resolved, Failed, Removed>;
    using Actions = std::vector<Action>;

    /// What a message states about its sender.
    struct Advertisement {
        std::optional<LinkAddress> link;
        bool solicited = false;  ///< it answers one of our addresses
        bool overrides = true;
    };

    Cache(const Parameters& parameters, ResolutionCounters& counters) : parameters_(parameters), counters_(counters) {}

    void resolve(const wire::Gid& address, Time now, Actions& out);
    /// As `resolve`, but a known neighbour is probed now: Resolved follows its answer, or Removed.
    void verify(const wire::Gid& address, Time now, Actions& out);
    /// Processes a message of a known neighbour.
    void update(const wire::Gid& address, const Advertisement& advertisement, Time now, Actions& out);
    /// Adds a neighbour that was not resolved.
    void learn(const wire::Gid& address, const LinkAddress& link, Time now, Actions& out);
    void remove(const wire::Gid& address, Actions& out);
    void clear(Actions& out);
    void tick(Time now, Actions& out);

    bool contains(const wire::Gid& address) const { return table_.contains(address); }
    /// It is solicited, and has neither answered nor failed.
    bool resolving(const wire::Gid& address) const;
    /// The neighbour's address, verified or not, unless its lifetime has expired.
    std::optional<LinkAddress> find(const wire::Gid& address, Time now) const;
    /// When `tick` has something to do. Unless `soliciting`, that is no more than to remove entries or change their
    /// state.
    std::optional<Time> deadline() const;
    bool soliciting() const { return soliciting_ != 0; }
    std::vector<Neighbour> neighbours(Time now, const LinkAddress& unknown) const;
    std::size_t size() const { return table_.size(); }

private:
    /// Eviction order when the table is full, first to last.
    enum class Value : std::uint8_t { learned, incomplete, requested };
    using Order = std::list<wire::Gid>;
    using Agenda = std::set<std::pair<Time, wire::Gid>>;

    struct Entry {
        std::optional<LinkAddress> link;  ///< none while incomplete
        NeighbourState state = NeighbourState::incomplete;
        bool requested = false;  ///< the caller has requested it and gets its changes
        bool verify = false;     ///< the caller waits for its answer
        bool multicast = false;  ///< in PROBE: the neighbour itself has not answered
        unsigned tries = 0;      ///< solicitations without an answer
        Time due = 0;
        Time since = 0;         ///< its last answer
        Time last_message = 0;  ///< arrival time
        Value value = Value::learned;
        Order::iterator place;
    };
    using Table = std::map<wire::Gid, Entry>;
    using Known = Table::iterator;

    Known insert(const wire::Gid& address, Time now);
    void drop(Known known, Actions& out);
    bool make_room(bool requested, Actions& out);
    void schedule(Known known, Time due);
    void set_tries(Entry& entry, unsigned tries);

    void solicit(Known known, Time now, Actions& out);
    void probe(Known known, bool multicast, Time now, Actions& out);
    void doubt(Known known, Time now);
    void expire(Known known, Time now, Actions& out);
    bool maintained(const Entry& entry) const { return entry.requested && parameters_.use == Use::maintained; }

    const Parameters& parameters_;
    ResolutionCounters& counters_;
    Table table_;
    Agenda agenda_;               ///< all entries, by `due`
    std::size_t soliciting_ = 0;  ///< entries with solicitations without an answer
    std::array<Order, 3> order_;  ///< by Value; oldest change first
};

}  // namespace verbline::neighbour
