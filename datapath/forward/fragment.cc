// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/forward/fragment.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <rte_mbuf.h>

#include "datapath/offload/checksum.h"
#include "datapath/offload/packet.h"
#include "datapath/offload/segmentation.h"
#include "datapath/wire/ipv4.h"

namespace verbline::forward {

using wire::Ipv4;

namespace {

constexpr std::size_t max_header = 60;
constexpr std::uint32_t unit = 8;  ///< fragment offsets count in these

/// A header of 20 to 60 bytes, in whole words.
struct Header {
    std::array<std::byte, max_header> bytes{};
    std::size_t size = 0;

    void append(wire::Bytes more) {
        std::ranges::copy(more, bytes.begin() + static_cast<std::ptrdiff_t>(size));
        size += more.size();
    }
};

/// What every fragment but the first carries: the options whose "copied" bit is set (RFC 791, 3.1). Options behind one
/// that makes no sense are left out.
Header later_header(wire::Bytes first) {
    constexpr std::uint8_t end = 0, no_operation = 1, copied = 0x80;
    Header header;
    header.append(first.first(Ipv4::size));
    for (auto options = first.subspan(Ipv4::size); !options.empty();) {
        const auto type = wire::load8(options, 0);
        if (type == end) break;
        const std::size_t size = type == no_operation ? 1 : options.size() > 1 ? wire::load8(options, 1) : 0;
        if (size == 0 || size > options.size() || (size < 2 && type != no_operation)) break;
        if ((type & copied) != 0) header.append(options.first(size));
        options = options.subspan(size);
    }
    header.size = (header.size + 3) & ~std::size_t{3};  // padded with "end of options", which is zero
    return header;
}

}  // namespace

std::uint16_t fragment(rte_mbuf& packet, std::uint32_t mtu, rte_mempool& pool, pmd::Burst out) {
    if ((packet.ol_flags & RTE_MBUF_F_TX_TCP_SEG) != 0 || !offload::finish_checksums(packet)) return 0;
    const auto bytes = offload::first_segment(std::as_const(packet));
    const auto ip = Ipv4::parse(bytes, packet.pkt_len);
    const bool ends_too_far = ip && ip->fragment_offset * unit + ip->total_length - ip->header_size() > 0xffff;
    if (!ip || ends_too_far) return 0;
    constexpr std::uint32_t unusable = RTE_PKTMBUF_HEADROOM + offload::segment_tailroom;
    const std::uint32_t room = rte_pktmbuf_data_room_size(&pool);
    const auto limit = std::min(mtu, room > unusable ? room - unusable : 0);

    Header header;
    header.append(bytes.first(ip->header_size()));
    offload::ChainReader payload(packet, static_cast<std::uint32_t>(ip->header_size()));
    auto left = static_cast<std::uint32_t>(ip->total_length - ip->header_size());
    std::uint32_t offset = ip->fragment_offset;
    std::uint16_t n = 0;
    while (left > 0) {
        const auto fits = limit > header.size ? limit - static_cast<std::uint32_t>(header.size) : 0;
        const auto size = left <= fits ? left : fits / unit * unit;
        auto* const piece = size > 0 && n < out.size() ? rte_pktmbuf_alloc(&pool) : nullptr;
        if (piece == nullptr) {
            rte_pktmbuf_free_bulk(out.data(), n);
            return 0;
        }
        out[n++] = piece;
        piece->port = packet.port;
        piece->data_len = static_cast<std::uint16_t>(header.size + size);
        piece->pkt_len = piece->data_len;

        const auto to = offload::first_segment(*piece);
        std::memcpy(to.data(), header.bytes.data(), header.size);
        const auto fields = *wire::View<Ipv4, std::byte>::over(to);
        fields.set<&Ipv4::header_words>(static_cast<std::uint8_t>(header.size / 4));
        fields.set<&Ipv4::total_length>(piece->data_len);
        fields.set<&Ipv4::more_fragments>(ip->more_fragments || size < left);
        fields.set<&Ipv4::fragment_offset>(static_cast<std::uint16_t>(offset));
        fields.set<&Ipv4::checksum>(0);
        fields.set<&Ipv4::checksum>(offload::Sum{}.add(to.first(header.size)).checksum());
        auto rest = to.subspan(header.size);
        while (!rest.empty()) {
            const auto part = payload.next(rest.size());
            std::ranges::copy(part, rest.begin());
            rest = rest.subspan(part.size());
        }
        left -= size;
        offset += size / unit;
        if (n == 1) header = later_header(bytes.first(ip->header_size()));
    }
    return n;
}

}  // namespace verbline::forward
