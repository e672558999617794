// SPDX-License-Identifier: BSD-3-Clause
// Connections that neighbours make. The rest of the connector is in connector.cc.
#include <tuple>
#include <utility>
#include <variant>

#include "control/ipoib/connector.h"
#include "datapath/wire/ipoib_connected.h"

namespace verbline::ipoib {

void Connector::accept(const cm::RequestReceived& received) {
    const auto& request = received.request;
    const auto peer = wire::IpoibConnected::parse(request.private_data);
    const auto decline = [&](wire::CmRejectReason reason) {
        counters_.connections_declined.add();
        std::ignore = received.endpoint->decline({.reason = reason}, loop_.now());
    };
    if (request.transport != cm::Transport::rc) return decline(wire::CmRejectReason::invalid_transport);
    if (!peer || peer->qpn == wire::Qpn{}) return decline(wire::CmRejectReason::consumer);
    const wire::IpoibAddress neighbour{.qpn = peer->qpn, .gid = request.primary.remote_gid};
    const bool full = incoming_.size() >= Connections::max_connections && !incoming_.contains(neighbour);
    if (full) return decline(wire::CmRejectReason::no_resources);
    auto pair = make_receiver(request);
    if (!pair) return decline(wire::CmRejectReason::no_resources);
    const auto replied = received.endpoint->reply(
        {.qpn = (*pair)->qpn(), .psn = random_psn(), .shared_receive_queue = true, .private_data = introduction()},
        loop_.now());
    if (!replied) return decline(wire::CmRejectReason::no_resources);
    counters_.connections_accepted.add();
    // A neighbour that makes another has lost the one before.
    auto& incoming = incoming_[neighbour];
    drop(incoming);
    incoming = {received.endpoint, std::move(*pair)};
}

Result<std::unique_ptr<rdma::QueuePair>> Connector::make_receiver(const cm::Request& request) {
    auto pair = setup_.connections->make_receiver();
    if (!pair) return pair;
    if (auto good = (*pair)->init({.pkey = identity_->pkey}); !good) return std::unexpected(good.error());
    const auto good = (*pair)->ready_to_receive({.remote = request.qpn,
                                                 .path = request.primary.route,
                                                 .mtu = wire::mtu_bytes(wire::IbMtu{request.mtu}),
                                                 .first = request.psn});
    if (!good) return std::unexpected(good.error());
    return pair;
}

void Connector::receive_incoming(const wire::IpoibAddress& neighbour, const cm::Endpoint& of,
                                 const cm::EndpointEvent& event) {
    const auto found = incoming_.find(neighbour);
    if (found == incoming_.end() || found->second.endpoint.get() != &of) return;
    const bool goes_on = std::holds_alternative<cm::Established>(event) || std::holds_alternative<cm::Delayed>(event);
    if (goes_on) return;
    drop(found->second);
    incoming_.erase(found);
}

/// The error state hands back the buffer of a message that is under way.
void Connector::drop(Incoming& incoming) {
    incoming.endpoint.reset();
    if (incoming.pair != nullptr) incoming.pair->error();
    incoming.pair.reset();
}

}  // namespace verbline::ipoib
