// SPDX-License-Identifier: BSD-3-Clause
#include <utility>

#include "control/rdmacm/path.h"
#include "control/rdmacm/service_core.h"

// Events of a connection's endpoint, translated for the id's user.

namespace verbline::rdmacm {

struct ServiceCore::Answers {
    ServiceCore& service;
    Id& id;
    Time now;

    /// Only events that fit the id's state are reported, so that a connection ends in a defined order.
    bool connecting() const { return id.state == IdState::connect; }

    void operator()(cm::ReplyReceived& received) const {
        if (!connecting()) return;
        auto& reply = received.reply;
        auto& connection = id.connection;
        connection.remote = reply.qpn;
        connection.send_psn = reply.psn;
        connection.responder_resources = reply.initiator_depth;  // what the peer begins is what we answer
        connection.initiator_depth = reply.responder_resources;
        connection.rnr_retry_count = reply.rnr_retry_count;
        connection.timeout = acknowledgement_timeout(connection.path.packet_lifetime, reply.target_ack_delay);
        service.emit(id, {.kind = EventKind::connect_response,
                          .id = id.number,
                          .user = id.user,
                          .connect = {.qpn = reply.qpn,
                                      .qkey = reply.qkey,
                                      .shared_receive_queue = reply.shared_receive_queue,
                                      .responder_resources = reply.initiator_depth,
                                      .initiator_depth = reply.responder_resources,
                                      .flow_control = reply.flow_control,
                                      .rnr_retry_count = reply.rnr_retry_count,
                                      .private_data = std::move(reply.private_data)}});
    }

    void operator()(cm::ServiceReplyReceived& received) const {
        if (!connecting()) return;
        auto& reply = received.reply;
        CmEvent event{.kind = EventKind::established,
                      .id = id.number,
                      .user = id.user,
                      .datagram = true,
                      .ud = {.qpn = reply.qpn,
                             .qkey = reply.qkey,
                             .path = id.connection.path.route,
                             .private_data = std::move(reply.private_data)}};
        if (reply.status != wire::SidrStatus::valid) {
            service.counters_.connect_rejected.add();
            event.kind = EventKind::unreachable;
            event.status = static_cast<int>(reply.status);
        } else if (!service.use_qkey(id, reply.qkey)) {
            event.kind = EventKind::address_error;
            event.status = -EINVAL;
        }
        service.emit(id, std::move(event));
    }

    void operator()(cm::Established&) const {
        if (!connecting() || std::exchange(id.connection.established, true)) return;
        service.emit(id, EventKind::established);
    }

    void operator()(cm::Rejected& received) const {
        if (!connecting()) return;
        service.counters_.connect_rejected.add();
        service.emit(id, {.kind = EventKind::rejected,
                          .id = id.number,
                          .user = id.user,
                          .status = static_cast<int>(received.rejection.reason),
                          .connect = {.private_data = std::move(received.rejection.private_data)}});
    }

    void operator()(cm::Unanswered& received) const {
        if (!connecting() || received.what == cm::Unanswered::What::alternate_path) return;
        service.counters_.connect_unanswered.add();
        service.emit(id, EventKind::unreachable, -ETIMEDOUT);
    }

    void disconnected(int status) const {
        if (!connecting()) return;
        service.become(id, IdState::disconnect, now);
        service.emit(id, EventKind::disconnected, status);
    }
    void operator()(cm::DisconnectRequested&) const { disconnected(0); }
    void operator()(cm::Disconnected& received) const { disconnected(received.timed_out ? -ETIMEDOUT : 0); }

    void operator()(cm::TimewaitExited&) const {
        if (id.state == IdState::disconnect) service.emit(id, EventKind::timewait_exit);
    }

    /// RDMA CM has no events for alternate paths.
    void operator()(cm::AlternateRequested&) const {
        (void)id.connection.endpoint->reply_alternate({.status = wire::AprStatus::unsupported}, now);
    }

    // MRA only extends the timeout; requests are handled by the listener.
    void operator()(cm::Delayed&) const {}
    void operator()(cm::AlternateReplied&) const {}
    void operator()(cm::RequestReceived&) const {}
    void operator()(cm::ServiceRequestReceived&) const {}
};

void ServiceCore::drain(Id& id, Time now) {
    const auto endpoint = id.connection.endpoint;
    while (auto event = endpoint->poll(now)) std::visit(Answers{*this, id, now}, *event);
}

}  // namespace verbline::rdmacm
