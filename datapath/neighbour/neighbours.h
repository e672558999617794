// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The neighbour engine (engine.h) on an Ethernet link without a kernel stack: frames in, frames out.
///
///     solicit(gid) ──> frame ──> link        link ──> received(frame) ──> reply
///     lookup(gid)  ──> MAC                   tick(now) ──> repeated requests, probes, announcements
///
/// An entry is valid for `Parameters::forget` after the neighbour's last message. fe80::<EUI-64 of the MAC address> is
/// always a local address.
///
/// Local addresses are used at once, while the probe is under way: `conflict` reports if another host has one.
///
/// Pure: no I/O, no clock. One thread at a time. Time is the caller's.

#include <optional>
#include <vector>

#include "datapath/link/interface_address.h"
#include "datapath/neighbour/frame.h"
#include "datapath/neighbour/resolver.h"
#include "pmd/base/time.h"

namespace verbline::neighbour {

class Neighbours {
public:
    static constexpr std::size_t default_capacity = 1024;
    /// The first repeat comes early, so there is one more than MAX_MULTICAST_SOLICIT: a neighbour whose link comes up
    /// within two seconds is still found, as by a kernel.
    static constexpr Parameters parameters{
        .use = Use::on_demand, .multicast_tries = 4, .detect_duplicates = Detect::all};

    explicit Neighbours(const wire::MacAddress& mac, std::size_t capacity = default_capacity);

    /// Replaces the local addresses, except the link-local one. New ones are probed for and announced.
    void set_addresses(const std::vector<link::InterfaceAddress>& addresses, Time now);

    struct Outcome {
        bool taken = false;  ///< it was ARP or ND, and must not be passed on
        bool found = false;  ///< it resolved an address that was solicited
        std::optional<Frame> reply{};
    };
    /// Processes a received frame, from the Ethernet header on.
    Outcome received(wire::Bytes frame, Time now);

    /// The MAC address of `gid`, if known. That of fe80::<EUI-64> is derived from the address; that of a local address
    /// is `mac()`.
    std::optional<wire::MacAddress> lookup(const wire::Gid& gid, Time now) const;
    /// Starts to resolve `gid` and returns the first request; `tick` repeats it. None if `gid` is being resolved or was
    /// verified lately, if there is no local address of its family as a source, or if `gid` is no host's address.
    std::optional<Frame> solicit(const wire::Gid& gid, Time now);
    /// `gid` is solicited, and has neither answered nor failed.
    bool resolving(const wire::Gid& gid) const { return engine_.resolving(gid); }

    struct Due {
        std::vector<Frame> frames;
        bool failed = false;  ///< an address that was solicited has not answered in time
    };
    /// The requests, probes and announcements that are due. Call at or after `deadline`.
    Due tick(Time now);
    /// None if there is nothing to send. Entries expire without a deadline of their own: later calls remove them.
    std::optional<Time> deadline() const {
        return engine_.soliciting() ? engine_.deadline() : engine_.addresses().deadline();
    }

    bool owns(const wire::Gid& gid) const { return engine_.addresses().owns(gid); }
    /// A local address that another host has claimed as well, if any.
    std::optional<wire::Gid> conflict() const { return engine_.addresses().conflict(); }

    const wire::MacAddress& mac() const { return mac_; }
    std::size_t size() const { return engine_.size(); }
    const ResolutionCounters& counters() const { return engine_.counters(); }

private:
    wire::MacAddress mac_;
    Resolver engine_;
};

}  // namespace verbline::neighbour
