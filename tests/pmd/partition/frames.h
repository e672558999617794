// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Frames with a P_Key, as far as it is looked for: CRCs and lengths are left out.

#include <cstddef>
#include <span>

#include "datapath/wire/bth.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/grh.h"
#include "datapath/wire/ip.h"
#include "datapath/wire/ipv6.h"
#include "datapath/wire/lrh.h"
#include "datapath/wire/udp.h"
#include "tests/support/packet.h"

namespace verbline::pmd::partition {

template <class Header>
void append(test::ByteVector& bytes, const Header& header) {
    bytes.resize(bytes.size() + Header::size);
    header.emit(std::span(bytes).template last<Header::size>());
}

/// Of the soft fabric; `number`: the last byte, behind the BTH.
inline test::ByteVector fabric_frame(wire::PKey pkey, unsigned number = 0, bool global = false) {
    test::ByteVector bytes;
    append(bytes, wire::Ethernet{.type = wire::ether_type::soft_ib});
    append(bytes, wire::Lrh{.next = global ? wire::NextHeader::grh : wire::NextHeader::bth});
    if (global) append(bytes, wire::Grh{});
    append(bytes, wire::Bth{.pkey = pkey});
    bytes.push_back(static_cast<std::byte>(number));
    return bytes;
}

inline test::ByteVector roce_frame(wire::PKey pkey, std::uint16_t port = wire::roce_v2_port) {
    test::ByteVector bytes;
    append(bytes, wire::Ethernet{.type = wire::ether_type::ipv6});
    append(bytes, wire::Ipv6{.next_header = wire::IpProtocol::udp});
    append(bytes, wire::Udp{.destination_port = port});
    append(bytes, wire::Bth{.pkey = pkey});
    return bytes;
}

}  // namespace verbline::pmd::partition
