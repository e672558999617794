// SPDX-License-Identifier: BSD-3-Clause
#include "control/cm/convert.h"

#include <fmt/format.h>

namespace verbline::cm {

namespace {

template <class Message>
constexpr std::size_t private_capacity = sizeof(Message{}.private_data);

Result<void> bounded(const char* what, std::size_t size, std::size_t capacity) {
    if (size <= capacity) return {};
    return failure(EINVAL, fmt::format("{} of {} bytes: the message holds {}", what, size, capacity));
}

template <class Message>
Result<void> both_fit(std::size_t information, std::size_t private_data) {
    if (auto result = bounded("additional information", information, wire::cm_additional_info_size); !result) {
        return result;
    }
    return bounded("private data", private_data, private_capacity<Message>);
}

/// Bounds a length field from the wire.
std::vector<std::byte> information(std::span<const std::byte> field, std::size_t length) {
    return to_vector(field.first(std::min(length, field.size())));
}

}  // namespace

Result<void> fits(const PrivateData& private_data, std::size_t capacity) {
    return bounded("private data", private_data.size(), capacity);
}
Result<void> fits(const Request& request) {
    return fits(request.private_data, private_capacity<wire::CmReq>);
}
Result<void> fits(const Reply& reply) {
    return fits(reply.private_data, private_capacity<wire::CmRep>);
}
Result<void> fits(const Rejection& rejection) {
    return both_fit<wire::CmRej>(rejection.information.size(), rejection.private_data.size());
}
Result<void> fits(const AlternateReply& reply) {
    return both_fit<wire::CmApr>(reply.information.size(), reply.private_data.size());
}
Result<void> fits(const ServiceRequest& request) {
    return fits(request.private_data, private_capacity<wire::CmSidrReq>);
}
Result<void> fits(const ServiceReply& reply) {
    return both_fit<wire::CmSidrRep>(reply.information.size(), reply.private_data.size());
}

wire::CmRep to_message(const Reply& reply, Transport transport, wire::Guid ca_guid) {
    wire::CmRep rep{.psn = reply.psn,
                    .responder_resources = reply.responder_resources,
                    .target_ack_delay = reply.target_ack_delay,
                    .failover_accepted = reply.failover_accepted,
                    .rnr_retry_count = reply.rnr_retry_count,
                    .ca_guid = ca_guid,
                    .private_data = padded<private_capacity<wire::CmRep>>(reply.private_data)};
    if (transport == Transport::xrc) {
        rep.eecn = static_cast<std::uint32_t>(reply.qpn);
        rep.shared_receive_queue = true;
        return rep;
    }
    rep.qkey = reply.qkey;
    rep.qpn = reply.qpn;
    rep.initiator_depth = reply.initiator_depth;
    rep.flow_control = reply.flow_control;
    rep.shared_receive_queue = reply.shared_receive_queue;
    return rep;
}

wire::Qpn queue_pair(const wire::CmRep& rep, Transport transport) {
    return transport == Transport::xrc ? wire::Qpn{rep.eecn} : rep.qpn;
}

Reply from_message(const wire::CmRep& rep, Transport transport) {
    return {.qpn = queue_pair(rep, transport),
            .qkey = rep.qkey,
            .psn = rep.psn,
            .responder_resources = rep.responder_resources,
            .initiator_depth = rep.initiator_depth,
            .target_ack_delay = rep.target_ack_delay,
            .failover_accepted = rep.failover_accepted,
            .rnr_retry_count = rep.rnr_retry_count,
            .shared_receive_queue = rep.shared_receive_queue,
            .flow_control = rep.flow_control,
            .private_data = to_vector(rep.private_data)};
}

wire::CmRej to_message(const Rejection& rejection, wire::CmAbout about) {
    return {.about = about,
            .information_length = static_cast<std::uint8_t>(rejection.information.size()),
            .reason = rejection.reason,
            .information = padded<wire::cm_additional_info_size>(rejection.information),
            .private_data = padded<private_capacity<wire::CmRej>>(rejection.private_data)};
}
Rejection from_message(const wire::CmRej& rej) {
    return {.reason = rej.reason,
            .information = information(rej.information, rej.information_length),
            .private_data = to_vector(rej.private_data)};
}

wire::CmApr to_message(const AlternateReply& reply) {
    return {.information_length = static_cast<std::uint8_t>(reply.information.size()),
            .status = reply.status,
            .information = padded<wire::cm_additional_info_size>(reply.information),
            .private_data = padded<private_capacity<wire::CmApr>>(reply.private_data)};
}
AlternateReply from_message(const wire::CmApr& apr) {
    return {.status = apr.status,
            .information = information(apr.information, apr.information_length),
            .private_data = to_vector(apr.private_data)};
}

wire::CmSidrReq to_message(const ServiceRequest& request) {
    return {.pkey = request.pkey,
            .service = request.service,
            .private_data = padded<private_capacity<wire::CmSidrReq>>(request.private_data)};
}
ServiceRequest from_message(const wire::CmSidrReq& req, const mad::GmpPeer& from) {
    // The message describes no path: use the addresses of its packet.
    return {.path = {.route = from.path, .remote_gid = from.path.address.dgid, .remote_lid = from.path.address.dlid},
            .service = req.service,
            .pkey = req.pkey,
            .private_data = to_vector(req.private_data)};
}

wire::CmSidrRep to_message(const ServiceReply& reply, wire::CmServiceId service) {
    return {.status = reply.status,
            .information_length = static_cast<std::uint8_t>(reply.information.size()),
            .qpn = reply.qpn,
            .service = service,
            .qkey = reply.qkey,
            .information = padded<wire::cm_additional_info_size>(reply.information),
            .private_data = padded<private_capacity<wire::CmSidrRep>>(reply.private_data)};
}
ServiceReply from_message(const wire::CmSidrRep& rep) {
    return {.status = rep.status,
            .qpn = rep.qpn,
            .qkey = rep.qkey,
            .information = information(rep.information, rep.information_length),
            .private_data = to_vector(rep.private_data)};
}

}  // namespace verbline::cm
