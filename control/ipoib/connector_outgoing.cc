// SPDX-License-Identifier: BSD-3-Clause
// Connections that we make. The rest of the connector is in connector.cc.
#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "control/ipoib/connector.h"
#include "control/sa/address_handle.h"
#include "datapath/wire/ipoib.h"
#include "datapath/wire/ipoib_connected.h"
#include "datapath/wire/text.h"

namespace verbline::ipoib {
namespace {

constexpr Time first_pause = second, longest_pause = 60 * second, stale_pause = 50 * millisecond;
/// 4.096 us * 2^n: half a second for an answer of the peer's control plane, and two seconds in all.
constexpr std::uint8_t response_timeout = 17, request_retries = 3;
/// 134 ms, eight times, until a neighbour is taken to be gone. Not by the path's lifetime, which subnet managers
/// overstate (OpenSM says one second for each).
constexpr std::uint8_t ack_timeout = 15;
constexpr std::uint32_t header = wire::IpoibHeader::size;

}  // namespace

void Connector::find(const wire::IpoibAddress& neighbour, const wire::PathRecord& path, Found found) {
    if (!identity_) return found(0);
    auto& outgoing = outgoing_[neighbour];
    outgoing.path = path;
    if (outgoing.number != 0 || (!outgoing.endpoint && loop_.now() < outgoing.retry_at)) return found(outgoing.number);
    outgoing.waiting.push_back(std::move(found));
    if (outgoing.endpoint == nullptr) begin(neighbour, outgoing);
    settle();
}

void Connector::begin(const wire::IpoibAddress& neighbour, Outgoing& outgoing) {
    if (auto sent = request(neighbour, outgoing); !sent) {
        setup_.trouble(fmt::format("no connection to {}: {}", to_string(neighbour.gid), sent.error().what));
        refused(outgoing);
    }
}

Result<void> Connector::request(const wire::IpoibAddress& neighbour, Outgoing& outgoing) {
    auto pair = setup_.connections->make_sender();
    if (!pair) return std::unexpected(pair.error());
    if (auto good = (*pair)->init({.pkey = identity_->pkey}); !good) return good;
    outgoing.pair = std::move(*pair);
    outgoing.first = random_psn();
    auto endpoint = manager_->connect({.primary = connection_path(outgoing.path),
                                       .service = wire::ipoib_connected_service(neighbour.qpn),
                                       .qpn = outgoing.pair->qpn(),
                                       .psn = outgoing.first,
                                       .pkey = identity_->pkey,
                                       .mtu = path_mtu(outgoing.path),
                                       .remote_response_timeout = response_timeout,
                                       .local_response_timeout = response_timeout,
                                       .max_cm_retries = request_retries,
                                       .shared_receive_queue = true,
                                       .private_data = introduction()},
                                      loop_.now());
    if (!endpoint) return std::unexpected(endpoint.error());
    outgoing.endpoint = std::move(*endpoint);
    return {};
}

cm::ConnectionPath Connector::connection_path(const wire::PathRecord& path) const {
    return {.route = {.gid_index = gid_index_, .address = sa::address_handle(path)},
            .local_gid = identity_->port.gid,
            .remote_gid = path.destination_gid,
            .local_lid = identity_->port.lid,
            .remote_lid = path.destination_lid,
            .flow_label = path.flow_label,
            .rate = path.rate,
            .traffic_class = path.traffic_class,
            .hop_limit = path.hop_limit,
            .sl = path.service_level,
            .subnet_local = path.hop_limit <= 1,
            .packet_lifetime = path.lifetime};
}

/// Of the path, coded: as far as our frames have room.
std::uint8_t Connector::path_mtu(const wire::PathRecord& path) const {
    auto coded = std::clamp<std::uint8_t>(static_cast<std::uint8_t>(path.mtu), 1, 5);
    while (wire::mtu_bytes(wire::IbMtu{coded}) > setup_.connections->device().max_mtu()) --coded;
    return coded;
}

void Connector::receive(const wire::IpoibAddress& neighbour, const cm::Endpoint& of, const cm::EndpointEvent& event) {
    const auto found = outgoing_.find(neighbour);
    if (found == outgoing_.end() || found->second.endpoint.get() != &of) return;
    auto& outgoing = found->second;
    if (const auto* replied = std::get_if<cm::ReplyReceived>(&event))
        return connect(neighbour, outgoing, replied->reply);
    const auto* const rejected = std::get_if<cm::Rejected>(&event);
    const bool over = rejected != nullptr || std::holds_alternative<cm::Unanswered>(event) ||
                      std::holds_alternative<cm::DisconnectRequested>(event) ||
                      std::holds_alternative<cm::Disconnected>(event);
    if (!over) return;
    if (outgoing.number != 0) return lose(neighbour, outgoing);
    refused(outgoing);
    // By our request it has found out that the connection before is over: the next one is no longer stale.
    const bool stale = rejected != nullptr && rejected->rejection.reason == wire::CmRejectReason::stale_connection;
    if (stale) outgoing.pause = 0, outgoing.retry_at = loop_.now() + stale_pause;
}

void Connector::connect(const wire::IpoibAddress& neighbour, Outgoing& outgoing, const cm::Reply& reply) {
    if (auto ready = make_ready(outgoing, reply); !ready) {
        std::ignore = outgoing.endpoint->reject({.reason = wire::CmRejectReason::no_resources}, loop_.now());
        return refused(outgoing);
    }
    counters_.connections_opened.add();
    outgoing.pause = 0;
    const bool asked = !outgoing.waiting.empty();
    answer(outgoing);
    if (!asked) setup_.found(neighbour);
}

Result<void> Connector::make_ready(Outgoing& outgoing, const cm::Reply& reply) {
    const auto peer = wire::IpoibConnected::parse(reply.private_data);
    const auto least = setup_.connections->datagram_mtu();
    if (!peer || peer->mtu < least + header) return failure(EPROTO, "it takes no packet of the datagrams' size");
    const auto path = connection_path(outgoing.path);
    const auto ready = outgoing.pair->ready_to_receive({.remote = reply.qpn,
                                                        .path = path.route,
                                                        .mtu = wire::mtu_bytes(wire::IbMtu{path_mtu(outgoing.path)}),
                                                        .first = reply.psn});
    if (!ready) return ready;
    const auto sends = outgoing.pair->ready_to_send({.first = outgoing.first, .timeout = ack_timeout});
    if (!sends) return sends;
    outgoing.mtu = std::min(peer->mtu - header, connected_mtu);
    const auto number = setup_.connections->open(*outgoing.pair, outgoing.mtu);
    if (!number) return failure(ENOSPC, "there are too many connections");
    outgoing.number = *number;
    return outgoing.endpoint->ready_to_use({}, loop_.now());
}

/// Tells those that wait: the connection, or that there is none.
void Connector::answer(Outgoing& outgoing) {
    const auto number = outgoing.number;
    for (const auto& found : std::exchange(outgoing.waiting, {})) found(number);
}

void Connector::refused(Outgoing& outgoing) {
    counters_.connections_refused.add();
    outgoing.pause = outgoing.pause == 0 ? first_pause : std::min(2 * outgoing.pause, longest_pause);
    outgoing.retry_at = loop_.now() + outgoing.pause;
    end(outgoing);
    answer(outgoing);
}

/// Ends what there is of a connection that no neighbour uses: the peer is told in the background, the queue pair goes
/// when the shard has let it go.
void Connector::end(Outgoing& outgoing) {
    outgoing.endpoint.reset();
    if (outgoing.pair == nullptr) return;
    outgoing.pair->error();
    const auto number = std::exchange(outgoing.number, ConnectionNumber{0});
    if (number == 0) return outgoing.pair.reset();
    setup_.close(number);
    closing_.push_back({number, std::move(outgoing.pair)});
}

void Connector::lose(const wire::IpoibAddress& neighbour, Outgoing& outgoing) {
    counters_.connections_lost.add();
    outgoing.retry_at = 0;
    let_go(neighbour, outgoing);
}

/// Ends a connection that is in use. First the shard forgets the neighbour, so that no packet is for a number that
/// another may have next.
void Connector::let_go(const wire::IpoibAddress& neighbour, Outgoing& outgoing) {
    Outgoing old{.endpoint = std::move(outgoing.endpoint),
                 .pair = std::move(outgoing.pair),
                 .number = std::exchange(outgoing.number, ConnectionNumber{0})};
    setup_.lost(neighbour);  // which may have called `find`
    end(old);
}

}  // namespace verbline::ipoib
