// SPDX-License-Identifier: BSD-3-Clause
#include "control/node/ipoib_frame.h"

#include <algorithm>

#include "datapath/link/arrival.h"
#include "datapath/link/member.h"
#include "datapath/link/part.h"
#include "datapath/wire/bth.h"
#include "datapath/wire/deth.h"

namespace verbline::node {
namespace {

using wire::Bth, wire::Deth;

}  // namespace

std::optional<wire::Bytes> open_ipoib_frame(wire::Bytes frame, wire::QKey qkey, wire::PKey pkey) {
    link::Arrival arrival;
    if (link::open_headers(frame, link::Carrier::soft_ib, arrival)) return std::nullopt;
    const auto packet_at = arrival.bth_at + Bth::size + Deth::size;
    if (arrival.end < packet_at) return std::nullopt;
    const auto bth = link::part_at<Bth>(frame, arrival.bth_at);
    if (!wire::match(bth.get<&Bth::pkey>(), pkey) || link::verify(frame, arrival)) return std::nullopt;
    const auto deth = link::part_at<Deth>(frame, arrival.bth_at + Bth::size);
    const auto to = bth.get<&Bth::dest>();
    if (bth.get<&Bth::opcode>() != wire::ud_send_only || deth.get<&Deth::qkey>() != qkey) return std::nullopt;
    if (to != link::node_ipoib_qpn && to != wire::multicast_qpn) return std::nullopt;
    const auto packet = frame.subspan(packet_at, arrival.end - packet_at);
    const std::size_t pad = bth.get<&Bth::pad>();
    if (pad > packet.size()) return std::nullopt;
    return packet.first(packet.size() - pad);
}

std::vector<std::byte> make_ipoib_frame(const link::SourceAddress& from, const IpoibDestination& destination,
                                        wire::Psn psn, wire::Bytes packet) {
    const auto envelope = link::make_envelope(from, destination.to, {}, 0);
    const auto pad = (4 - packet.size() % 4) % 4;
    const auto packet_at = envelope.size + Bth::size + Deth::size;
    std::vector<std::byte> frame(packet_at + packet.size() + pad + link::trailer_size(envelope.carrier));
    const std::span bytes(frame);
    Bth{.opcode = wire::ud_send_only,
        .pad = static_cast<std::uint8_t>(pad),
        .pkey = destination.pkey,
        .dest = destination.qpn,
        .psn = psn}
        .emit(bytes.subspan(envelope.size).first<Bth::size>());
    Deth{.qkey = destination.qkey, .source = link::node_ipoib_qpn}.emit(
        bytes.subspan(envelope.size + Bth::size).first<Deth::size>());
    std::ranges::copy(packet, bytes.subspan(packet_at).begin());
    link::write_headers(bytes, envelope, 0);
    link::write_crcs(bytes, link::sealing_of(envelope));
    return frame;
}

}  // namespace verbline::node
