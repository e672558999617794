// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The flow that a received packet belongs to, and its hash, by which receive-side scaling in software selects a queue.
///
///     Ethernet (VLAN) IPv4 or IPv6                              a flow of its own; of RoCE v2 the outer one, whose
///                                                               source port is a hash of the flow inside
///     Ethernet LRH (GRH) BTH DETH IPoIB IPv4 or IPv6            the soft fabric, and RoCE v1 (a GRH alone): the flow
///     Ethernet (VLAN) GRH BTH DETH IPoIB IPv4 or IPv6           inside
///     IPv4 or IPv6; IPoIB IPv4 or IPv6                          devices that carry IP packets; datagrams
///
/// Of GRE and IP in IP it is the flow inside, whose outer headers are those of all flows between two ends of a tunnel;
/// VXLAN and Geneve have a source port for each flow inside (RFC 7348, 5; RFC 8926, 3.3).
///
/// A flow is named by its addresses, and by its ports if it is TCP or UDP. Fragments count by their addresses alone, as
/// all but the first have no ports; so do packets with extension headers of IPv6. What carries no IP is of no flow.
///
/// Nothing is verified but lengths: checksums, CRCs and validity are checked by the receiver. A packet
/// that is invalid may be taken for one of some flow.

#include <array>
#include <cstdint>
#include <span>

#include "datapath/offload/toeplitz.h"
#include "datapath/wire/bytes.h"
#include "pmd/netdev.h"
#include "pmd/rss.h"

namespace verbline::link {

/// What names a flow, in place in the packet.
struct Flow {
    wire::Bytes addresses;  ///< source and destination, 8 or 32 bytes; empty: no flow
    wire::Bytes ports;      ///< source and destination, 4 bytes; empty: of all ports
};

/// Of a packet that begins with what `carries` names.
Flow flow_of(pmd::Carries carries, wire::Bytes packet) noexcept;

/// Looks into first segments only: headers lie there (pmd/README.md).
class FrameFlowHash : public pmd::FlowHash {
public:
    using Key = std::array<std::uint8_t, offload::Toeplitz::key_size>;

    /// The key should be random where flows are: someone who knows it can aim all of them at one queue. Not a short
    /// pattern repeated: then addresses and ports that rise together cancel out.
    explicit FrameFlowHash(const Key& key) : key_(key), toeplitz_(key_) {}
    static Key random_key();

    std::span<const std::uint8_t> key() const override { return key_; }
    void hash(pmd::Carries carries, std::span<rte_mbuf* const> packets,
              std::span<std::uint32_t> hashes) const noexcept override;

private:
    Key key_;
    offload::Toeplitz toeplitz_;
};

}  // namespace verbline::link
