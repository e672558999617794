// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Unreliable datagrams without work requests, on every carrier: for IPoIB, whose packets stay in their mbufs. Checks
/// that a UD packet is for a queue pair, and builds the headers of its own (IBTA volume 1, 9.8.3 and 9.6.1).
///
///     frame ── link::open_headers, link::verify ── parse (packet.h) ── UdQueuePair::discard ──> Packet::payload
///     payload ── link::prepend(ud_destination) ── finish_datagram ──> frame
///
/// Packets of programs' UD queue pairs pass the same check (ud_check.h) on their way to ud_responder.h;
/// request_writer.h builds theirs. Owned by one shard. No I/O.

#include <cstdint>
#include <optional>
#include <vector>

#include "datapath/link/destination.h"
#include "datapath/link/envelope.h"
#include "datapath/transport/counters.h"
#include "datapath/transport/packet.h"
#include "datapath/wire/types.h"
#include "pmd/netdev.h"

struct rte_mbuf;

namespace verbline::transport {

/// One UD queue pair at one port, and the multicast groups it is attached to.
class UdQueuePair {
public:
    struct Attributes {
        link::SourceAddress port;
        wire::Qpn qpn{};
        wire::PKey pkey{0xffff};
        wire::QKey qkey{};

        bool operator==(const Attributes&) const = default;
    };

    explicit UdQueuePair(const Attributes& attributes) : attributes_(attributes) {}

    const Attributes& attributes() const { return attributes_; }
    /// A group is known by its MLID on the soft fabric, and by its MGID on RoCE. Idempotent.
    void attach(const pmd::MulticastAddress& group);
    void detach(const pmd::MulticastAddress& group);

    /// The reason to drop a parsed packet, none if it is for this queue pair: its address, its queue pair, then what
    /// ud_discard checks. Sets `own_multicast`. IPoIB sends no immediate data: such packets are of a wrong opcode.
    std::optional<UdDiscard> discard(Packet& packet) const noexcept;
    /// The PSN of the next packet sent.
    wire::Psn next_psn() { return wire::Psn(next_psn_++); }

private:
    /// Destination and source by the headers in front of the BTH: a group; this port, or a group that the queue pair is
    /// attached to; sent by this port.
    struct Addressed {
        bool group = false, ours = false, from_us = false;
    };
    Addressed addressed(const Packet& packet) const noexcept;
    bool attached(const pmd::MulticastAddress& group) const noexcept;

    Attributes attributes_;
    std::vector<pmd::MulticastAddress> groups_;  ///< few: searched linearly
    std::uint32_t next_psn_ = 0;
};

/// Builds the headers, through the DETH, towards queue pair `qpn` at `to`, or towards the group `to`; further headers
/// may be appended. `to_mac` as in make_envelope; that of a group is derived.
link::Destination ud_destination(const UdQueuePair::Attributes& from, const wire::AddressHandle& to,
                                 wire::MacAddress to_mac, wire::Qpn qpn, wire::QKey qkey);

/// Completes a frame that begins with the header of `to`, in two steps: fills in lengths, pad count and PSN, and
/// appends padding and room for the trailer; then writes ICRC and VCRC. The mbuf must be a single segment. For a burst,
/// run the first step for all frames and then the second for all (link::write_headers says why). False, and the frame
/// unchanged, if it has no room for the trailer.
bool fill_datagram(rte_mbuf& frame, const link::Destination& to, wire::Psn psn) noexcept;
void seal_datagram(rte_mbuf& frame, const link::Destination& to) noexcept;
/// Both steps, for a single frame.
bool finish_datagram(rte_mbuf& frame, const link::Destination& to, wire::Psn psn) noexcept;

}  // namespace verbline::transport
