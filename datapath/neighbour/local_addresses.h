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
/// A tentative address is used at once, while the probe is under way: a program need not wait for its address.
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

    explicit LocalAddresses(const Parameters& parameters) : parameters_(parameters) {}

    /// Replaces the addresses; those that stay keep their state. New ones are probed for and announced if duplicates
    /// are to be detected, except what is derived from `own`, which is unique.
    void set(const std::vector<link::InterfaceAddress>& addresses, const LinkAddress& own, Time now);
    /// Starts announcements of all.
    void announce(Time now);
    void stop_announcing();
    /// Call at or after `deadline`, until it returns none.
    std::optional<Due> due(Time now);
    std::optional<Time> deadline() const;

    /// Another host probes for one of the addresses. False: it may have it.
    bool probed(const wire::Gid& address);
    /// Another host claims one of the addresses. True: announce it.
    bool claimed(const wire::Gid& address, Time now);
    /// An address that another host has claimed as well, if any.
    std::optional<wire::Gid> conflict() const;

    bool owns(const wire::Gid& address) const { return find(address) != nullptr; }
    /// Whether it is answered for: ours, and not lost.
    bool answers_for(const wire::Gid& address) const;
    bool on_link(const wire::Gid& address) const;
    /// The address from which to ask for `address`: one of its network, or else any of its family.
    std::optional<wire::Gid> source_for(const wire::Gid& address) const;

private:
    struct Own {
        link::InterfaceAddress address;
        bool tentative = false;  ///< not announced yet: an earlier claimant has it
        bool probed = false;
        unsigned announcements = 0;  ///< still to send
        std::optional<Time> due{};   ///< none: nothing more to send
        std::optional<Time> defended{};
        bool conflict = false;  ///< another host has it, too
        bool lost = false;      ///< and had it first
    };

    const Own* find(const wire::Gid& address) const;
    Own* find(const wire::Gid& address);
    static void lose(Own& mine);

    const Parameters& parameters_;
    std::vector<Own> own_;
};

}  // namespace verbline::neighbour
