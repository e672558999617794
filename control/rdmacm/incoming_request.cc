// SPDX-License-Identifier: BSD-3-Clause
#include "control/rdmacm/incoming_request.h"

#include <algorithm>

#include <fmt/format.h>

#include "control/cm/endpoint.h"
#include "datapath/link/ip_gid.h"
#include "datapath/wire/ip_cm_header.h"

namespace verbline::rdmacm {
namespace {

/// GIDs hold IPv4 addresses mapped (::ffff:a.b.c.d); in the header the bytes before the address are zero.
wire::Ipv6Address on_wire(const SocketAddress& address) {
    wire::Ipv6Address bytes{address.gid.bytes};
    if (address.family == Family::ipv4) std::fill_n(bytes.bytes.begin(), link::ipv4_in_gid, std::byte{0});
    return bytes;
}

SocketAddress from_wire(const wire::Ipv6Address& bytes, std::uint8_t version) {
    if (version == 6) return {.family = Family::ipv6, .gid = link::gid_of(bytes)};
    return {.family = Family::ipv4,
            .gid = link::gid_of(wire::Ipv4Address{wire::load32(bytes.bytes, link::ipv4_in_gid)})};
}

}  // namespace

Result<cm::PrivateData> with_header(const SocketAddress& source, const SocketAddress& destination,
                                    std::span<const std::byte> user, std::size_t room) {
    const std::size_t header = source.family == Family::ib ? 0 : wire::IpCmHeader::size;
    if (user.size() > room - header) {
        return failure(EINVAL, fmt::format("{} bytes of private data, but only {} fit: send the rest as a message",
                                           user.size(), room - header));
    }
    cm::PrivateData data(header + user.size());
    if (header != 0) {
        wire::IpCmHeader{.ip_version = static_cast<std::uint8_t>(source.family == Family::ipv4 ? 4 : 6),
                         .source_port = source.port,
                         .source = on_wire(source),
                         .destination = on_wire(destination)}
            .emit(std::span(data).first<wire::IpCmHeader::size>());
    }
    std::ranges::copy(user, data.begin() + static_cast<std::ptrdiff_t>(header));
    return data;
}

std::optional<Ends> parse_header(std::span<const std::byte> private_data) {
    const auto header = wire::IpCmHeader::parse(private_data);
    if (!header || (header->ip_version != 4 && header->ip_version != 6)) return std::nullopt;
    Ends ends{from_wire(header->source, header->ip_version), from_wire(header->destination, header->ip_version)};
    ends.source.port = header->source_port;
    return ends;
}

cm::PrivateData without_header(std::span<const std::byte> private_data) {
    const auto user = private_data.subspan(std::min(private_data.size(), wire::IpCmHeader::size));
    return {user.begin(), user.end()};
}

const cm::EndpointPointer& IncomingRequest::endpoint() const {
    return std::visit([](const auto& request) -> const auto& { return request.endpoint; }, what);
}

wire::CmServiceId IncomingRequest::service() const {
    return std::visit([](const auto& received) { return received.request.service; }, what);
}

cm::PortAddress IncomingRequest::sender() const {
    return std::visit([](const auto& received) { return cm::PortAddress::of(received.from); }, what);
}

wire::PKey IncomingRequest::pkey() const {
    return std::visit([](const auto& received) { return received.request.pkey; }, what);
}

const cm::PrivateData& IncomingRequest::private_data() const {
    return std::visit([](const auto& received) -> const auto& { return received.request.private_data; }, what);
}

QueuePairType IncomingRequest::type() const {
    const auto* connection = std::get_if<cm::RequestReceived>(&what);
    if (!connection) return QueuePairType::ud;
    switch (connection->request.transport) {
        case cm::Transport::uc: return QueuePairType::uc;
        case cm::Transport::xrc: return QueuePairType::xrc_target;  // sent by the initiator
        case cm::Transport::rc: break;
    }
    return QueuePairType::rc;
}

cm::ConnectionPath IncomingRequest::path() const {
    if (const auto* connection = std::get_if<cm::RequestReceived>(&what)) return connection->request.primary;
    // SIDR_REQ describes no path: answer along the packet's return path.
    const auto& route = std::get<cm::ServiceRequestReceived>(what).from.path;
    cm::ConnectionPath path;
    path.route = route;
    path.remote_gid = route.address.dgid;
    path.remote_lid =
        route.address.global && route.address.dlid == wire::Lid{} ? wire::permissive_lid : route.address.dlid;
    path.flow_label = route.address.flow_label;
    path.traffic_class = route.address.traffic_class;
    path.hop_limit = route.address.hop_limit;
    path.sl = route.address.sl;
    path.subnet_local = !route.address.global;
    return path;
}

void IncomingRequest::refuse(wire::CmRejectReason reason, Time now) const {
    if (!datagram()) {
        (void)endpoint()->decline(cm::Rejection{.reason = reason}, now);
        return;
    }
    const bool nobody = reason == wire::CmRejectReason::invalid_service_id;
    const auto status = nobody ? wire::SidrStatus::unsupported_service : wire::SidrStatus::rejected;
    (void)endpoint()->decline(cm::ServiceReply{.status = status}, now);
}

}  // namespace verbline::rdmacm
