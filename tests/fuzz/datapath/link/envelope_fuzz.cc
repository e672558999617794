// SPDX-License-Identifier: BSD-3-Clause
// Frames on every carrier. Random bytes never have the right CRCs, so each input is also tried sealed: what a hostile
// neighbour can send. What opens lies within the frame, and sealed again it is what it was.
#include <algorithm>
#include <array>
#include <vector>

#include "datapath/link/arrival.h"
#include "datapath/link/envelope.h"
#include "datapath/wire/bth.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/ipv4.h"
#include "tests/fuzz/datapath/packets.h"
#include "tests/support/link_frame.h"

using namespace verbline;
using fuzz::expect;
using link::Carrier;

namespace {

constexpr std::size_t ipv4_length = 2, ipv4_id = 4, ipv4_checksum = 10;

/// The bytes in front of the BTH, whatever they are, as an envelope.
link::Envelope envelope_of(wire::Bytes frame, Carrier carrier, std::size_t covered_at, std::size_t bth_at) {
    link::Envelope envelope{.carrier = carrier,
                            .covered_at = static_cast<std::uint8_t>(covered_at),
                            .size = static_cast<std::uint8_t>(bth_at)};
    std::ranges::copy(frame.first(bth_at), envelope.bytes.begin());
    if (carrier == Carrier::roce_v2_ipv4) {
        const auto ip = wire::MutableBytes(envelope.bytes).subspan(covered_at, wire::Ipv4::size);
        for (const auto open : {ipv4_length, ipv4_id, ipv4_checksum}) wire::store16(ip, open, 0);
        for (std::size_t i = 0; i < ip.size(); i += 2) envelope.ip_sum += wire::load16(ip, i);
    }
    return envelope;
}

void look_at(wire::Bytes frame, const link::Arrival& arrival) {
    expect(link::route_header(frame, arrival).size() <= link::global_route_header_size);
    link::source_mac(frame);
    link::service_level(frame, arrival);
    expect(link::vlan(frame, arrival).value_or(1) != 0);
    if (arrival.global) return;
    expect(link::source_gid(frame, arrival) == wire::Gid{});
    expect(link::destination_gid(frame, arrival) == wire::Gid{});
}

void check(wire::Bytes frame) {
    const auto arrival = test::open_frame(frame);
    if (!arrival) return;
    expect(arrival->network_at < arrival->bth_at && arrival->bth_at + wire::Bth::size <= arrival->end);
    const auto size = arrival->end + link::trailer_size(arrival->carrier);
    expect(size <= frame.size());
    look_at(frame, *arrival);

    std::vector again(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(size));
    const auto envelope = envelope_of(frame, arrival->carrier, arrival->network_at, arrival->bth_at);
    test::seal_frame(again, envelope, wire::load16(frame, arrival->network_at + ipv4_id));
    const auto reopened = test::open_frame(again);
    expect(reopened && reopened->end == arrival->end && reopened->bth_at == arrival->bth_at);
    // An LRH has reserved bits beside its length, which are not kept.
    const auto transport = [&](wire::Bytes bytes) { return bytes.first(size).subspan(arrival->bth_at); };
    expect(arrival->carrier == Carrier::soft_ib || std::ranges::equal(transport(again), transport(frame)));
    const bool to_itself = link::source_gid(frame, *arrival) == link::destination_gid(frame, *arrival) &&
                           link::source_lid(frame, *arrival) == link::destination_lid(frame, *arrival);
    expect(!to_itself || link::answers(frame, *arrival, envelope));
}

/// What must be there for a frame to be taken for one of this carrier.
void dress(wire::MutableBytes frame, std::size_t at, Carrier carrier, bool global) {
    const auto packet = frame.subspan(at);
    switch (carrier) {
        case Carrier::roce_v2_ipv4:
            wire::store16(frame, at - 2, 0x0800), wire::store8(packet, 0, 0x45), wire::store8(packet, 9, 17);
            wire::store16(packet, 6, 0x4000), wire::store16(packet, 22, 4791);
            break;
        case Carrier::roce_v2_ipv6:
            wire::store16(frame, at - 2, 0x86dd), wire::store8(packet, 0, 0x60), wire::store8(packet, 6, 17);
            wire::store16(packet, 42, 4791);
            break;
        case Carrier::roce_v1:
            wire::store16(frame, at - 2, 0x8915), wire::store8(packet, 0, 0x60), wire::store8(packet, 6, 0x1b);
            break;
        case Carrier::soft_ib:
            wire::store16(frame, at - 2, 0x88b5), wire::store8(packet, 0, 0), wire::store8(packet, 1, global ? 3 : 2);
            if (global) wire::store8(packet, 8, 0x60), wire::store8(packet, 14, 0x1b);
            break;
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::Input input(std::as_bytes(std::span(data, size)));
    const auto choice = input.byte();
    const auto bytes = input.take(size);
    check(bytes);

    std::vector frame(bytes.begin(), bytes.end());
    const auto carrier = static_cast<Carrier>(choice % 4);
    const bool soft = carrier == Carrier::soft_ib, global = choice & 4, tagged = !soft && (choice & 8) != 0;
    const std::size_t at = wire::Ethernet::size + (tagged ? wire::Vlan::size : 0);
    constexpr std::array<std::size_t, 4> headers = {28, 48, 40, 8};
    const std::size_t bth_at = at + headers[choice % 4] + (soft && global ? 40 : 0);
    frame.resize(std::max(frame.size(), bth_at + wire::Bth::size + link::trailer_size(carrier)));
    frame.resize(frame.size() - (frame.size() - bth_at - link::trailer_size(carrier)) % 4);
    if (tagged) wire::store16(frame, 12, 0x8100);
    dress(frame, at, carrier, global);
    test::seal_frame(frame, envelope_of(frame, carrier, soft && global ? at + 8 : at, bth_at), 7);
    const auto arrival = test::open_frame(frame);
    // Nothing but the BTH can be wrong now, or a length beyond what its field holds.
    expect(arrival || arrival.error() == link::Discard::rx_dropped_bth || frame.size() > 4096);
    check(frame);
    return 0;
}
