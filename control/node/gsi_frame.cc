// SPDX-License-Identifier: BSD-3-Clause
#include "control/node/gsi_frame.h"

#include <algorithm>

#include "datapath/link/arrival.h"
#include "datapath/link/part.h"
#include "datapath/wire/bth.h"
#include "datapath/wire/deth.h"
#include "datapath/wire/ethernet.h"

namespace verbline::node {
namespace {

using wire::Bth, wire::Deth;

/// Exchanges two fields of `size` bytes.
void swap_fields(GsiHeaders& headers, std::size_t one, std::size_t other, std::size_t size) {
    const auto at = [&](std::size_t offset) { return headers.bytes.begin() + static_cast<std::ptrdiff_t>(offset); };
    std::swap_ranges(at(one), at(one + size), at(other));
}

/// An IPv4 header's checksum is a sum, which exchanged addresses leave as it is.
void swap_network_addresses(GsiHeaders& headers) {
    const std::size_t at = headers.network_at;
    if (headers.carrier == link::Carrier::roce_v2_ipv4) {
        swap_fields(headers, at + 12, at + 16, 4);
    } else if (headers.global) {
        swap_fields(headers, at + 8, at + 24, 16);
    }
}

}  // namespace

std::optional<GsiFrame> open_gsi_frame(wire::Bytes frame) {
    link::Arrival arrival;
    if (link::open_headers(frame, arrival) || link::verify(frame, arrival)) return std::nullopt;
    const auto mad_at = arrival.bth_at + Bth::size + Deth::size;
    if (arrival.end != mad_at + wire::mad_size || mad_at > GsiHeaders::capacity) return std::nullopt;
    const auto bth = link::part_at<Bth>(frame, arrival.bth_at);
    const auto deth = link::part_at<Deth>(frame, arrival.bth_at + Bth::size);
    if (bth.get<&Bth::opcode>() != wire::ud_send_only || bth.get<&Bth::dest>() != wire::gsi_qpn ||
        deth.get<&Deth::qkey>() != wire::gsi_qkey) {
        return std::nullopt;
    }
    GsiHeaders headers{.carrier = arrival.carrier,
                       .covered_at = static_cast<std::uint8_t>(arrival.network_at),
                       .network_at = static_cast<std::uint8_t>(arrival.network_at),
                       .global = arrival.global,
                       .size = static_cast<std::uint8_t>(mad_at)};
    std::ranges::copy(frame.first(mad_at), headers.bytes.begin());
    return GsiFrame{.headers = headers, .mad = frame.subspan(mad_at).first<wire::mad_size>()};
}

GsiHeaders reversed(const GsiHeaders& headers) {
    constexpr std::size_t lrh_at = wire::Ethernet::size;
    auto back = headers;
    swap_fields(back, 0, 6, 6);
    if (back.carrier == link::Carrier::soft_ib) swap_fields(back, lrh_at + 2, lrh_at + 6, 2);  // LIDs
    swap_network_addresses(back);
    return back;
}

void write_gsi_frame(const GsiHeaders& headers, mad::MadBytes mad, wire::MutableBytes frame) {
    std::ranges::copy(headers.view(), frame.begin());
    std::ranges::copy(mad, frame.begin() + headers.size);
    link::write_crcs(frame, {.carrier = headers.carrier, .covered_at = headers.covered_at, .ip_sum = 0});
}

}  // namespace verbline::node
