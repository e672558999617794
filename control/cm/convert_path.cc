// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "control/cm/convert.h"
#include "datapath/wire/class_port_info.h"

// Conversion of paths in REQ and LAP.

namespace verbline::cm {

namespace {

wire::CmPath to_message(const ConnectionPath& path) {
    return {.local_lid = path.local_lid,
            .remote_lid = path.remote_lid,
            .local_gid = path.local_gid,
            .remote_gid = path.remote_gid,
            .flow_label = path.flow_label,
            .rate = path.rate,
            .traffic_class = path.traffic_class,
            .hop_limit = path.hop_limit,
            .service_level = path.sl,
            .subnet_local = path.subnet_local,
            // The round trip; the side that knows the peer's delay adds it (12.7.34).
            .ack_timeout = static_cast<std::uint8_t>(std::min(path.packet_lifetime + 1, 31))};
}

/// `Message` is a CmPath or a CmLap: both name the fields alike.
template <class Message>
ConnectionPath turned_round(const Message& path, const mad::GmpPeer& from) {
    const bool same_port = from.path.address.dgid == path.local_gid;
    return {.route = {.gid_index = from.path.gid_index,
                      .address = {.dlid = path.local_lid,
                                  .sl = path.service_level,
                                  .global = !path.subnet_local,
                                  .dgid = path.local_gid,
                                  .hop_limit = path.hop_limit,
                                  .traffic_class = path.traffic_class,
                                  .flow_label = path.flow_label},
                      // The MAC address of a port other than the sender's must be resolved.
                      .mac = same_port ? from.path.mac : wire::MacAddress{}},
            .local_gid = path.remote_gid,
            .remote_gid = path.local_gid,
            .local_lid = path.remote_lid,
            .remote_lid = path.local_lid,
            .flow_label = path.flow_label,
            .rate = path.rate,
            .traffic_class = path.traffic_class,
            .hop_limit = path.hop_limit,
            .sl = path.service_level,
            .subnet_local = path.subnet_local,
            .packet_lifetime = static_cast<std::uint8_t>(std::max(path.ack_timeout - 1, 0))};
}

Transport transport_of(const wire::CmReq& req) {
    if (req.transport == wire::CmTransport::extended) return Transport::xrc;
    return req.transport == wire::CmTransport::uc ? Transport::uc : Transport::rc;
}

}  // namespace

wire::CmReq to_message(const Request& request, wire::Guid ca_guid) {
    wire::CmReq req{.service = request.service,
                    .ca_guid = ca_guid,
                    .qkey = request.qkey,
                    .qpn = request.qpn,
                    .initiator_depth = request.initiator_depth,
                    .remote_response_timeout = request.remote_response_timeout,
                    .flow_control = request.flow_control,
                    .psn = request.psn,
                    .local_response_timeout = request.local_response_timeout,
                    .pkey = request.pkey,
                    .mtu = static_cast<wire::IbMtu>(request.mtu),
                    .max_cm_retries = request.max_cm_retries,
                    .primary = to_message(request.primary),
                    .private_data = padded<sizeof(wire::CmReq{}.private_data)>(request.private_data)};
    if (request.alternate) req.alternate = to_message(*request.alternate);
    if (request.transport == Transport::xrc) {
        // An XRC initiator has no responder: its attributes stay zero, as peers expect.
        req.transport = wire::CmTransport::extended;
        req.extended_transport = wire::CmExtendedTransport::xrc;
        return req;
    }
    req.transport = request.transport == Transport::uc ? wire::CmTransport::uc : wire::CmTransport::rc;
    req.responder_resources = request.responder_resources;
    req.retry_count = request.retry_count;
    req.rnr_retry_count = request.rnr_retry_count;
    req.shared_receive_queue = request.shared_receive_queue;
    return req;
}

Request from_message(const wire::CmReq& req, const mad::GmpPeer& from) {
    Request request{.primary = turned_round(req.primary, from),
                    .service = req.service,
                    .transport = transport_of(req),
                    .qpn = req.qpn,
                    .qkey = req.qkey,
                    .psn = req.psn,
                    .pkey = req.pkey,
                    .mtu = static_cast<std::uint8_t>(req.mtu),
                    .responder_resources = req.responder_resources,
                    .initiator_depth = req.initiator_depth,
                    .remote_response_timeout = req.remote_response_timeout,
                    .local_response_timeout = req.local_response_timeout,
                    .retry_count = req.retry_count,
                    .rnr_retry_count = req.rnr_retry_count,
                    .max_cm_retries = req.max_cm_retries,
                    .shared_receive_queue = req.shared_receive_queue,
                    .flow_control = req.flow_control,
                    .private_data = to_vector(req.private_data)};
    if (req.alternate.local_lid != wire::Lid{}) request.alternate = turned_round(req.alternate, from);
    return request;
}

wire::CmLap to_message(const ConnectionPath& alternate, wire::Qpn remote_qpn, std::uint8_t response_timeout,
                       const PrivateData& private_data) {
    const auto path = to_message(alternate);
    return {.remote_qpn = remote_qpn,
            .response_timeout = response_timeout,
            .local_lid = path.local_lid,
            .remote_lid = path.remote_lid,
            .local_gid = path.local_gid,
            .remote_gid = path.remote_gid,
            .flow_label = path.flow_label,
            .traffic_class = path.traffic_class,
            .hop_limit = path.hop_limit,
            .rate = path.rate,
            .service_level = path.service_level,
            .subnet_local = path.subnet_local,
            .ack_timeout = path.ack_timeout,
            .private_data = padded<sizeof(wire::CmLap{}.private_data)>(private_data)};
}

ConnectionPath from_message(const wire::CmLap& lap, const mad::GmpPeer& from) {
    return turned_round(lap, from);
}

std::optional<mad::GmpPeer> redirected(const mad::GmpPeer& peer, std::span<const std::byte> information) {
    const auto there = wire::ClassPortInfo::parse(information);
    if (!there || there->redirect_qpn == wire::Qpn{}) return std::nullopt;
    const auto& address = peer.path.address;
    const bool global = there->redirect_gid != wire::Gid{}, local = there->redirect_lid != wire::Lid{};
    // RoCE addresses by GID, one InfiniBand subnet by LID.
    return mad::GmpPeer{.path = {.gid_index = peer.path.gid_index,
                                 .address = {.dlid = local ? there->redirect_lid : wire::permissive_lid,
                                             .sl = there->redirect_service_level,
                                             .global = global && (address.global || !local),
                                             .dgid = there->redirect_gid,
                                             .hop_limit = address.hop_limit,
                                             .traffic_class = there->redirect_traffic_class,
                                             .flow_label = there->redirect_flow_label}},
                        .qpn = there->redirect_qpn,
                        .qkey = there->redirect_qkey,
                        .pkey = there->redirect_pkey};
}

mad::GmpPeer peer_of(const ConnectionPath& path, wire::PKey pkey) {
    return {.path = path.route, .pkey = pkey};
}

}  // namespace verbline::cm
