// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/traffic/frame_template.h"

#include <type_traits>

#include <fmt/format.h>

#include "datapath/traffic/frame_headers.h"
#include "datapath/wire/ethernet.h"

namespace verbline::traffic {
namespace {

std::uint32_t low_word(const auto& value) {
    using Value = std::remove_cvref_t<decltype(value)>;
    if constexpr (wire::Address<Value>) {
        return wire::load32(value.bytes, value.bytes.size() - 4);
    } else {
        return static_cast<std::uint32_t>(value);
    }
}

Prototype prototype(const FrameSpec& spec, const FrameLayout& at, std::uint32_t size) {
    Prototype made;
    made.length = static_cast<std::uint16_t>(size - fcs);
    const auto sums = emit_headers(spec, at, made.length, made.head);
    made.ip_sum = sums.ip, made.l4_sum = sums.l4;
    if (at.icrc) made.icrc_at = static_cast<std::uint16_t>(at.packet_end(made.length) - wire::icrc_size);
    return made;
}

CoveredByIcrc covered(const FrameLayout& at, const std::vector<Prototype>& prototypes) {
    CoveredByIcrc made{.over = *at.icrc, .begin = at.network, .size = at.head() - at.network};
    for (const auto& each : prototypes) made.zeros.emplace_back(each.icrc_at - at.head());
    return made;
}

}  // namespace

Result<FrameTemplate> FrameTemplate::make(const FrameSpec& spec, const SizeMix& sizes) {
    const FrameLayout at(spec);
    const auto least = static_cast<std::uint32_t>(at.least() + fcs);
    FrameTemplate made;
    for (const auto size : sizes.sizes()) {
        if (size < least) {
            return failure(EINVAL, fmt::format("frames of {} bytes have no room for their headers and the stamp behind "
                                               "them: give {} or more",
                                               size, least));
        }
        made.prototypes_.push_back(prototype(spec, at, size));
    }
    made.period_ = sizes.period();
    made.transport_ = spec.transport;
    made.ip_checksum_at_ = at.ip_checksum;
    made.l4_checksum_at_ = at.l4_checksum;
    made.stamp_at_ = at.stamp;
    if (at.icrc) made.icrc_ = covered(at, made.prototypes_);
    made.vary_fields(spec, at);
    return made;
}

/// A GRH has its GIDs where IPv6 has its addresses.
void FrameTemplate::vary_fields(const FrameSpec& spec, const FrameLayout& at) {
    const auto vary = [&](const auto& values, std::size_t offset, std::uint8_t width, bool ip, bool l4) {
        if (values.count <= 1) return;
        flows_ *= values.count;
        fields_.push_back({static_cast<std::uint16_t>(offset), width, ip, l4, low_word(values.first), values.count});
    };
    const bool in_ip = ip_checksum_at_ != 0, in_l4 = l4_checksum_at_ != 0;
    const bool grh = spec.encapsulation == Encapsulation::roce_v1;
    if (!grh) vary(spec.source_port, at.l4, 2, false, in_l4);
    if (in_l4) vary(spec.destination_port, at.l4 + 2, 2, false, true);
    const std::size_t source = spec.ipv6 || grh ? 20 : 12, destination = spec.ipv6 || grh ? 36 : 16;
    if (spec.ipv6) {
        vary(spec.source_ipv6, at.ip + source, 4, false, in_l4);
        vary(spec.destination_ipv6, at.ip + destination, 4, false, in_l4);
    } else {
        vary(spec.source_ipv4, at.ip + source, 4, in_ip, in_l4);
        vary(spec.destination_ipv4, at.ip + destination, 4, in_ip, in_l4);
    }
    if (spec.vlan) vary(*spec.vlan, wire::Ethernet::size, 2, false, false);
    vary(spec.destination_mac, 2, 4, false, false);
    vary(spec.source_mac, 8, 4, false, false);
    if (at.bth != 0) vary(spec.destination_qpn, at.bth + 4, 4, false, false);
}

}  // namespace verbline::traffic
