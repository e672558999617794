// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/ib_packet.h"

#include <algorithm>
#include <optional>

#include "datapath/wire/icrc.h"
#include "datapath/wire/lrh.h"
#include "datapath/wire/vcrc.h"

namespace verbline::wire {
namespace {

/// What the ICRC covers, ICRC included; the VCRC is the two bytes behind it.
struct Covered {
    IcrcOver first;
    std::size_t begin;
    std::size_t end;
};

/// By a view: the header as a value is written to memory in pieces and read back whole, for which the processor waits
/// longer than the CRCs of a small packet take.
std::optional<Covered> covered(Bytes packet) {
    const auto lrh = View<Lrh>::over(packet);
    if (!lrh || Lrh::Layout::refusal(lrh->bytes())) return std::nullopt;
    const std::size_t size = std::size_t{lrh->get<&Lrh::packet_words>()} * 4;
    const auto next = lrh->get<&Lrh::next>();
    if (size + vcrc_size != packet.size()) return std::nullopt;
    if (next != NextHeader::bth && next != NextHeader::grh) return std::nullopt;
    const bool global = next == NextHeader::grh;
    const Covered range{global ? IcrcOver::grh : IcrcOver::lrh, global ? Lrh::size : 0, size};
    if (range.begin + icrc_headers(range.first) + icrc_size > range.end) return std::nullopt;
    return range;
}

}  // namespace

bool seal(MutableBytes packet) {
    const auto range = covered(packet);
    if (!range) return false;
    const MutableBytes before = packet.first(range->end - icrc_size);
    Vcrc vcrc;
    vcrc.add(before.first(range->begin));
    const auto icrc = Icrc::begin(range->first, before.subspan(range->begin), vcrc);
    if (!icrc) return false;
    // The VCRC takes the ICRC from the variable, not from the packet: loading what was just stored would stall.
    vcrc.add(icrc->bytes());
    std::ranges::copy(icrc->bytes(), packet.subspan(before.size()).begin());
    std::ranges::copy(vcrc.bytes(), packet.last<vcrc_size>().begin());
    return true;
}

IbCheck verify(Bytes packet) {
    const auto range = covered(packet);
    if (!range) return IbCheck::malformed;
    Vcrc vcrc;
    vcrc.add(packet.first(range->begin));
    const auto icrc = Icrc::begin(range->first, packet.first(range->end).subspan(range->begin), vcrc);
    if (!icrc) return IbCheck::malformed;
    vcrc.add(packet.subspan(range->end));
    if (!vcrc.verifies()) return IbCheck::vcrc;
    return icrc->verifies() ? IbCheck::ok : IbCheck::icrc;
}

}  // namespace verbline::wire
