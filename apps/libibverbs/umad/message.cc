// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/umad/message.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <endian.h>

namespace verbline::verbs {
namespace {

FarEnd far_end_of(const ib_user_mad_hdr& header) {
    FarEnd end{.lid = wire::Lid{be16toh(header.lid)},
               .qpn = wire::Qpn{be32toh(header.qpn) & 0xffffff},
               .qkey = wire::QKey{be32toh(header.qkey)},
               .sl = static_cast<std::uint8_t>(header.sl & 0xf),
               .path_bits = header.path_bits,
               .pkey_index = header.pkey_index};
    if (header.grh_present == 0) return end;
    auto& route = end.route.emplace();
    std::memcpy(route.gid.bytes.data(), header.gid, sizeof header.gid);
    route.gid_index = header.gid_index;
    route.hop_limit = header.hop_limit;
    route.traffic_class = header.traffic_class;
    route.flow_label = be32toh(header.flow_label) & 0xfffff;
    return end;
}

void store(const FarEnd& end, ib_user_mad_hdr& header) {
    header.lid = htobe16(static_cast<std::uint16_t>(end.lid));
    header.qpn = htobe32(static_cast<std::uint32_t>(end.qpn));
    header.qkey = htobe32(static_cast<std::uint32_t>(end.qkey));
    header.sl = end.sl;
    header.path_bits = end.path_bits;
    header.pkey_index = end.pkey_index;
    if (!end.route) return;
    header.grh_present = 1;
    std::memcpy(header.gid, end.route->gid.bytes.data(), sizeof header.gid);
    header.gid_index = end.route->gid_index;
    header.hop_limit = end.route->hop_limit;
    header.traffic_class = end.route->traffic_class;
    header.flow_label = htobe32(end.route->flow_label);
}

}  // namespace

Result<void> check_length(std::size_t bytes, HeaderLayout layout) {
    if (bytes < header_size(layout) + least_written) return failure(EINVAL, "shorter than a MAD");
    if (bytes - header_size(layout) > longest_message) return failure(ENOMEM, "longer than any message");
    return {};
}

Outgoing parse_outgoing(std::span<const std::byte> bytes, HeaderLayout layout) {
    ib_user_mad_hdr header{};  // the old layout is its beginning
    const auto size = header_size(layout);
    std::memcpy(&header, bytes.data(), size);
    const auto mad = bytes.subspan(size);
    return {.agent = header.id,
            .timeout_ms = header.timeout_ms,
            .retries = header.retries,
            .to = far_end_of(header),
            .mad = {mad.begin(), mad.end()}};
}

std::array<std::byte, sizeof(ib_user_mad_hdr)> header_of(const Incoming& message, HeaderLayout layout) {
    ib_user_mad_hdr header{};
    header.id = message.agent;
    header.status = message.status;
    header.timeout_ms = message.timeout_ms;
    header.retries = message.retries;
    header.length = static_cast<std::uint32_t>(header_size(layout) + message.mad.size());
    store(message.from, header);
    std::array<std::byte, sizeof header> bytes{};
    std::memcpy(bytes.data(), &header, sizeof header);
    return bytes;
}

Readable readable(const Incoming& message, std::size_t room, HeaderLayout layout) {
    const auto whole = message.mad.size();
    const auto least = std::min(whole, wire::mad_size);
    if (room < header_size(layout) + least) return {.error = EINVAL};
    if (room < header_size(layout) + whole) return {.bytes = least, .error = ENOSPC};
    return {.bytes = whole};
}

}  // namespace verbline::verbs
