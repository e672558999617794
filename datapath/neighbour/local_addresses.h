// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The local addresses on a link: probed for, announced and defended (RFC 5227; RFC 4862, 5.4).
///
///     set ──> tentative: probe ── `probe_wait` ──> announce ── `announce_interval` ──> announce
///               │ another host has it, or probes for it, too               │ another host claims it
///               v                                                          v
///             lost: neither answered for nor used as a source            defend: announce, at a limited rate
///
/// One of `virtual_addresses` is announced each `refresh_interval`. If another host claims it, it is yielded: neither
/// answered for nor used as a source, until nobody has claimed it for `yield_for`.
///
/// If `use_tentative`, an address is used at once, while the probe is under way: a program need not wait for its
/// address. Else it is neither answered for nor used as a source until then (RFC 4862, 5.4).
///
/// Pure: no I/O, no clock. Time is the caller's.

#include <optional>
#include <vector>

#include "datapath/link/interface_address.h"
#include "datapath/neighbour/link_address.h"
#include "datapath/neighbour/parameters.h"
#include "datapath/wire/types.h"

namespace verbline::neighbour {

class LocalAddresses {
public:
    /// A probe or an announcement that is due.
    struct Due {
        wire::Gid address{};
        bool probe = false;  ///< else an announcement
    };

    explicit LocalAddresses(const Parameters& parameters)
        : parameters_(parameters), virtual_(parameters.virtual_addresses) {}

    /// Replaces the addresses; those that stay keep their state. New ones are probed for and announced if duplicates
    /// are to be detected, except what is derived from `own`, which is unique, and `certain` ones.
    void set(const std::vector<link::InterfaceAddress>& addresses, const LinkAddress& own, Time now,
             const std::vector<wire::Gid>& certain = {});
    /// Replaces `virtual_addresses`. Of ours, those that have become virtual or no longer are, are announced; one that
    /// was yielded is ours again.
    void set_virtual(std::vector<wire::Gid> addresses, Time now);
    /// Starts announcements of all; first, probes that `stop_announcing` has interrupted.
    void announce(Time now);
    void stop_announcing();
    /// Call at or after `deadline`, until it returns none.
    std::optional<Due> due(Time now);
    std::optional<Time> deadline() const;

    /// Another host probes for one of the addresses. False: no conflict.
    bool probed(const wire::Gid& address);
    /// Another host claims one of the addresses. True: announce it.
    bool claimed(const wire::Gid& address, Time now);
    /// An address that another host has claimed as well, if any.
    std::optional<wire::Gid> conflict() const;
    /// Whether another host has claimed `address`, and this has not been asked since; if so, whether ours is lost.
    std::optional<bool> take_conflict(const wire::Gid& address);

    /// Whether a virtual address has been yielded, or is ours again, since this was asked; if so, whether it is
    /// yielded.
    std::optional<bool> take_yielded(const wire::Gid& address);

    bool owns(const wire::Gid& address) const { return find(address) != nullptr; }
    /// Whether it is answered for: ours, not lost, and no longer tentative if that counts.
    bool answers_for(const wire::Gid& address) const;
    bool on_link(const wire::Gid& address) const;
    /// The source address of solicitations for `address`: one of its network, or else any of its family. None while
    /// that of its network cannot be used yet.
    std::optional<wire::Gid> source_for(const wire::Gid& address) const;
    /// Whether there will be a source once a tentative address can be used.
    bool awaits_source_for(const wire::Gid& address) const;

private:
    struct Own {
        link::InterfaceAddress address;
        bool tentative = false;  ///< not announced yet: an earlier claimant uses it
        bool probed = false;
        unsigned announcements = 0;  ///< still to send
        std::optional<Time> due{};   ///< none: nothing more to send
        std::optional<Time> defended{};
        bool conflict = false;  ///< another host uses it too
        bool lost = false;      ///< and had it first
        bool reported = false;  ///< the conflict, by `take_conflict`
        bool is_virtual = false;
        bool yielded = false;       ///< a virtual one, to another host
        bool said_yielded = false;  ///< by `take_yielded`
    };

    const Own* find(const wire::Gid& address) const;
    Own* find(const wire::Gid& address);
    static void lose(Own& mine);
    bool is_virtual(const wire::Gid& address) const;
    bool detects(const wire::Gid& address, const LinkAddress& own) const;
    bool usable(const Own& mine) const {
        return !mine.lost && !mine.yielded && (!mine.tentative || parameters_.use_tentative);
    }
    std::optional<Time> next_announcement(Own& mine, Time now) const;

    const Parameters& parameters_;
    std::vector<wire::Gid> virtual_;
    std::vector<Own> own_;
};

}  // namespace verbline::neighbour
