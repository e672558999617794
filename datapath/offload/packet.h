// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The bytes of an mbuf as spans, for software offloads.

#include <cstddef>
#include <cstring>

#include <rte_mbuf.h>

#include "datapath/wire/bytes.h"
#include "datapath/wire/header.h"

namespace verbline::offload {

inline wire::Bytes first_segment(const rte_mbuf& packet) {
    return {rte_pktmbuf_mtod(&packet, const std::byte*), packet.data_len};
}
inline wire::MutableBytes first_segment(rte_mbuf& packet) {
    return {rte_pktmbuf_mtod(&packet, std::byte*), packet.data_len};
}

/// The header at offset `at` of a packet whose length has been checked.
template <class Header>
wire::View<Header> checked_header(const rte_mbuf& packet, std::size_t at = 0) {
    return wire::View<Header>::of(first_segment(packet).subspan(at).template first<Header::size>());
}
template <class Header>
wire::View<Header, std::byte> checked_header(rte_mbuf& packet, std::size_t at = 0) {
    return wire::View<Header, std::byte>::of(first_segment(packet).subspan(at).template first<Header::size>());
}

/// Reads the bytes of a chain in order, without changing it.
class ChainReader {
public:
    /// `from` is at most the packet's length.
    ChainReader(const rte_mbuf& packet, std::uint32_t from) : at_(&packet), offset_(from) { skip_finished(); }

    /// The next contiguous bytes, at most `limit`; empty only at the end of the chain.
    wire::Bytes next(std::size_t limit) {
        if (at_ == nullptr) return {};
        const auto rest = first_segment(*at_).subspan(offset_);
        const auto piece = rest.first(rest.size() < limit ? rest.size() : limit);
        offset_ += static_cast<std::uint32_t>(piece.size());
        skip_finished();
        return piece;
    }

private:
    void skip_finished() {
        for (; at_ != nullptr && offset_ >= at_->data_len; at_ = at_->next) offset_ -= at_->data_len;
    }

    const rte_mbuf* at_;
    std::uint32_t offset_;
};

/// Calls `use` with each contiguous piece of `length` bytes from offset `from` of the chain, which must hold that many.
template <class Use>
void for_each_piece(const rte_mbuf& packet, std::uint32_t from, std::uint32_t length, Use use) {
    ChainReader reader(packet, from);
    while (length > 0) {
        const auto piece = reader.next(length);
        if (piece.empty()) return;
        use(piece);
        length -= static_cast<std::uint32_t>(piece.size());
    }
}

}  // namespace verbline::offload
