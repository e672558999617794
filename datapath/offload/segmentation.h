// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// TCP segmentation in software (TSO, LSO): one large packet with a TX_TCP_SEG request becomes packets of at most
/// tso_segsz bytes of payload, as a device with the offload would send them. IPv4 and IPv6, also inside a tunnel.
///
///     +---------+------------------------------------------+         the packet: a chain, up to 64 KB
///     | headers |                 payload                  |
///     +---------+------------------------------------------+
///     | headers'| part 1 |  | headers'| part 2 |  ...                segments: one mbuf each, checksums done
///
///     identification +1 each, sequence + payload before, CWR only on the first, FIN and PSH only on the last; of a
///     tunnel's packet the outer lengths, identification and checksums as well
///
/// A generator, because 64 KB can be more segments than a burst holds. Payload is copied once, and summed in the same
/// pass. Owned by one shard; the packet belongs to the Segmenter.

#include <array>
#include <cstddef>
#include <cstdint>

#include "datapath/offload/checksum.h"
#include "datapath/offload/packet.h"
#include "pmd/netdev.h"

struct rte_mempool;

namespace verbline::offload {

/// Tailroom that each segment leaves for link layers: pad, ICRC and VCRC of InfiniBand. Its headroom is the pool's.
constexpr std::size_t segment_tailroom = 16;

/// Bytes in front of the payload of a packet with a segmentation request, from its IP header on; of a tunnel's packet,
/// from the outer one on.
std::uint32_t headers_of(const rte_mbuf& packet);

/// Reduces `tso_segsz` so that segments fit a link: at most `mtu` bytes each, IP header included. A router may do so
/// instead of fragmenting: the byte stream is the same, and no reassembly is needed. Does nothing without a
/// segmentation request.
void limit_segments(rte_mbuf& packet, std::uint32_t mtu);

class Segmenter {
public:
    /// `packet` begins at its IP header; l3_len, l4_len and tso_segsz are set (of a tunnel's packet outer_l3_len and
    /// l2_len, too: pmd/README.md) and its headers lie in the first segment. Segments come from `pool`, one buffer
    /// each: a tso_segsz that no buffer can hold is made smaller.
    Segmenter(rte_mbuf* packet, rte_mempool& pool);
    Segmenter(const Segmenter&) = delete;
    Segmenter& operator=(const Segmenter&) = delete;
    ~Segmenter();

    /// False if the packet does not meet the constructor's requirements: `next` then returns no segments.
    bool valid() const { return segment_size_ > 0; }
    /// Fills `out` from the front and returns how many; the caller owns the segments. Fewer than fit means that all are
    /// out, or that the pool is empty: a later call then continues.
    std::uint16_t next(pmd::Burst out);
    /// True once all segments have been returned.
    bool done() const { return valid() && remaining() == 0; }
    /// Number of segments still to be returned.
    std::uint32_t remaining() const { return total_ - count_; }

private:
    static constexpr std::size_t max_headers = 384;  ///< both IP headers with extensions, a tunnel's, and TCP's 60

    /// An IP header that differs from segment to segment in its length, its identification and its checksum.
    class IpHeader {
    public:
        /// Takes the header from `bytes` and clears there what differs. False if it is none.
        bool take(wire::MutableBytes bytes);
        /// `length`: of segment `count`, from this header on.
        void write(wire::MutableBytes bytes, std::size_t length, std::uint32_t count) const;

    private:
        bool ipv6_ = false;
        std::uint16_t identification_ = 0;  ///< of the first segment; IPv4
        Sum sum_;                           ///< over what stays; IPv4
    };

    bool read_headers();
    bool read_outer(wire::MutableBytes headers);
    void fill(rte_mbuf& segment);
    void write_tcp(wire::MutableBytes tcp, std::uint32_t payload, Sum sum) const;
    void write_outer(wire::MutableBytes segment) const;

    rte_mbuf* packet_;
    rte_mempool& pool_;
    ChainReader payload_;                         ///< payload not yet copied into a segment
    std::array<std::byte, max_headers> headers_;  ///< template of every segment's headers; fields that differ are zero
    std::uint16_t outer_size_ = 0;                ///< of a tunnel's IP header; 0: there is no tunnel
    std::uint16_t ip_at_ = 0, tcp_at_ = 0, headers_size_ = 0;  ///< of the (inner) IP header, of TCP's; of all
    bool outer_udp_ = false;                                   ///< the tunnel is over UDP
    IpHeader outer_, ip_;
    Sum tcp_sum_;                          ///< over TCP's header in `headers_`, and the pseudo-header
    std::uint32_t sequence_ = 0;           ///< of the first segment
    std::uint8_t flags_ = 0;               ///< TCP's, as in the packet
    std::uint32_t payload_size_ = 0;       ///< of the packet, bytes
    std::uint32_t segment_size_ = 0;       ///< payload of every segment but the last, bytes
    std::uint32_t total_ = 0, count_ = 0;  ///< segments: of the packet, given out
};

}  // namespace verbline::offload
