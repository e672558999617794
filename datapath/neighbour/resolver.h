// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Address resolution on one interface, by ARP (RFC 826; RFC 4391, 9.1 over InfiniBand) and ND (RFC 4861), in the form
/// that they share (message.h): the neighbours (cache.h) and the local addresses (local_addresses.h).
///
///     caller ── resolve(address) ──> ┌──────────┐ ──> Resolved, Failed, Removed ──> caller
///     codec ─── received ──────────> │ Resolver │ ──> Send ─────────────────────> codec
///               tick ──────────────> └──────────┘
///
/// Every message that could be forged or outdated is verified by a probe if its sender is in use, so that a wrong entry
/// lasts no longer than `delay`, or `reachable` if it answered us. Entries are created only for addresses passed to
/// `resolve`, and for hosts of our networks that request a local address; these are reported only once they are
/// requested: what others send cannot fill the caller's tables, nor evict neighbours in use.
///
/// Pure: no I/O, no clock. One thread at a time. Time is the caller's, in nanoseconds.

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "datapath/link/interface_address.h"
#include "datapath/neighbour/action.h"
#include "datapath/neighbour/cache.h"
#include "datapath/neighbour/counters.h"
#include "datapath/neighbour/local_addresses.h"
#include "datapath/neighbour/parameters.h"
#include "pmd/base/time.h"
#include "pmd/base/token_bucket.h"

namespace verbline::neighbour {

class Resolver {
public:
    explicit Resolver(const LinkAddress& own, const Parameters& parameters = {});
    Resolver(const Resolver&) = delete;
    Resolver& operator=(const Resolver&) = delete;

    /// Sets our link-layer address, which must stay of the same kind. Call `announce` to inform the neighbours.
    void set_link(const LinkAddress& own) { own_ = own; }
    /// Replaces the local addresses. `certain`: those of them that are used without a probe.
    Actions set_addresses(const std::vector<link::InterfaceAddress>& addresses, Time now,
                          const std::vector<wire::Gid>& certain = {});

    /// Replaces the virtual addresses of the parameters (local_addresses.h): `deadline` may be another.
    void set_virtual_addresses(std::vector<wire::Gid> addresses, Time now) {
        addresses_.set_virtual(std::move(addresses), now);
    }

    /// Requests resolution of `address`.
    Actions resolve(const wire::Gid& address, Time now);
    /// The same for a neighbour that the caller knows, but doubts: Resolved follows its next answer, or Removed.
    Actions verify(const wire::Gid& address, Time now);
    /// Answers a request for the address of another host that is reached through us (proxy ARP; RFC 4861, 7.2.8).
    Actions answer_for_other(const Message& request, Time now);
    /// Whether a message is our own, come back to us, or claims to be.
    bool is_own(const Message& message) const;
    /// A received message, as its codec reads it. `other` must not be passed.
    Actions received(const Read& read, Time now);
    /// Starts announcements of the local addresses, repeated `announcements` times: at start, and when an address
    /// changed.
    Actions announce(Time now);
    /// The link is down: clears the table, with Failed and Removed for the caller.
    Actions clear();
    /// Call at or after `deadline`.
    Actions tick(Time now);
    std::optional<Time> deadline() const;
    /// A neighbour is solicited: `deadline` may be that of a message.
    bool soliciting() const { return cache_.soliciting(); }

    /// The link-layer address of a neighbour, as far as known.
    std::optional<LinkAddress> find(const wire::Gid& address, Time now) const { return cache_.find(address, now); }
    /// It is solicited, and has neither answered nor failed.
    bool resolving(const wire::Gid& address) const { return cache_.resolving(address); }
    std::vector<Neighbour> neighbours(Time now) const { return cache_.neighbours(now, unknown_like(own_)); }
    std::size_t size() const { return cache_.size(); }
    const LinkAddress& link() const { return own_; }
    const LocalAddresses& addresses() const { return addresses_; }
    const ResolutionCounters& counters() const { return counters_; }

private:
    void handle_request(const Message& message, Time now, Cache::Actions& changes, Actions& out);
    void handle_reply(const Message& message, Time now, Cache::Actions& changes);
    void report_conflict(const wire::Gid& address, const Message& message, Actions& out);
    void report_yielded(const wire::Gid& address, const std::optional<LinkAddress>& to, Actions& out);
    void answer(const Message& request, const std::optional<LinkAddress>& to, Time now, Actions& out);
    void send_answer(const Message& request, const Message& answer, const std::optional<LinkAddress>& to, Time now,
                     Actions& out);
    void solicit(const Cache::Solicit& solicit, Time now, Actions& out);
    void announce_once(const LocalAddresses::Due& due, Time now, Actions& out);
    void play(const Cache::Actions& actions, Time now, Actions& out);
    std::uint64_t next_nonce();
    bool is_own_probe(const Message& message) const;

    LinkAddress own_;
    const Parameters parameters_;
    ResolutionCounters counters_;
    LocalAddresses addresses_{parameters_};
    Cache cache_{parameters_, counters_};
    TokenBucket answers_, multicasts_;
    std::uint64_t nonces_made_ = 0;
    std::array<std::uint64_t, 16> last_nonces_{};  ///< of our probes; a loop brings them back soon
};

}  // namespace verbline::neighbour
