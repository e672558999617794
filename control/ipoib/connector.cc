// SPDX-License-Identifier: BSD-3-Clause
#include "control/ipoib/connector.h"

#include <algorithm>
#include <array>
#include <random>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "control/sa/address_handle.h"
#include "datapath/wire/ipoib.h"
#include "datapath/wire/ipoib_connected.h"
#include "datapath/wire/text.h"

namespace verbline::ipoib {
namespace {

constexpr Time upkeep_period = 50 * millisecond;
constexpr Time first_pause = second, longest_pause = 60 * second;
constexpr std::uint16_t mads = 128;
constexpr std::uint32_t interface_index = 1;  // in the table of GIDs
/// 4.096 us * 2^n: half a second for an answer of the peer's control plane, and two seconds in all.
constexpr std::uint8_t response_timeout = 17, request_retries = 3;
/// 134 ms, eight times, until a neighbour is taken to be gone. Not by the path's lifetime, which subnet managers
/// overstate (OpenSM says one second for each).
constexpr std::uint8_t ack_timeout = 15;
constexpr std::uint32_t header = wire::IpoibHeader::size;

std::uint64_t random_seed() {
    std::random_device random;
    return std::uint64_t{random()} << 32 | random();
}

/// As a key: a neighbour is the same one whatever it supports.
wire::IpoibAddress key_of(const wire::IpoibAddress& address) {
    return {.qpn = address.qpn, .gid = address.gid};
}

constexpr std::uint32_t bytes_of_mtu(std::uint8_t coded) {
    return 128u << coded;
}

template <class... Handlers>
struct Visitor : Handlers... {
    using Handlers::operator()...;
};

}  // namespace

Connector::Connector(control::Loop& loop, Setup setup)
    : loop_(loop), setup_(std::move(setup)), arrived_(EventDescriptor::make()) {
    upkeep_ = loop_.every(upkeep_period, [this] { upkeep(); });
}

void Connector::set_identity(const std::optional<Identity>& identity) {
    if (identity == identity_) return;
    reset();
    if (identity) start(*identity);
}

void Connector::start(const Identity& identity) {
    if (auto opened = open_services(identity); !opened) {
        reset();
        return setup_.trouble("no connections in connected mode: " + opened.error().what);
    }
    identity_ = identity;
}

Result<void> Connector::open_services(const Identity& identity) {
    auto& device = setup_.connections->device();
    device.set_lid(identity.port.lid);
    device.change_gids([&](link::GidTable& gids) {
        gids.add_interface(interface_index, {});
        gids.set_addresses(interface_index, std::array{identity.port.gid});
    });
    const auto index = device.gid_index(identity.port.gid, link::GidType::ib);
    if (!index) return failure(EADDRNOTAVAIL, "the port's GID cannot be used");
    gid_index_ = *index;
    if (!watch_) {
        if (!arrived_) return failure(EMFILE, "no descriptor is left");
        auto watch = loop_.watch(arrived_.get(), [this](std::uint32_t) {
            arrived_.drain();
            if (gsi_ != nullptr) gsi_->drain();
            settle();
        });
        if (!watch) return std::unexpected(watch.error());
        watch_ = std::move(*watch);
    }
    auto gsi = mad::Gsi::create({.device = &device, .slots = mads, .pkeys = {identity.pkey}, .on_posted = setup_.wake});
    if (!gsi) return std::unexpected(gsi.error());
    gsi_ = std::move(*gsi);
    manager_ = cm::Manager::create(
        {.ca_guid = identity.port.gid.interface_id(),
         .seed = random_seed(),
         .on_ready = [this](cm::Endpoint& endpoint) { ready_.push_back(&endpoint); },
         .gid_index =
             [this](const wire::Gid& gid) { return setup_.connections->device().gid_index(gid, link::GidType::ib); }},
        *gsi_);
    gsi_->on_ready([this] { arrived_.signal(); });
    gsi_->receive(wire::MadClass::communication,
                  [this](std::span<const mad::GmpArrival> burst) { manager_->receive(burst, loop_.now()); });
    auto listener = manager_->listen(wire::ipoib_connected_service(identity.qpn), ~std::uint64_t{0}, loop_.now());
    if (!listener) return std::unexpected(listener.error());
    listener_ = std::move(*listener);
    return {};
}

void Connector::reset() {
    identity_.reset();
    auto outgoing = std::exchange(outgoing_, {});
    for (auto& [neighbour, each] : outgoing) {
        end(each);
        answer(each);
    }
    for (auto& [neighbour, each] : incoming_) drop(each);
    incoming_.clear();
    listener_.reset();
    ready_.clear();
    timer_.cancel();
    if (gsi_ != nullptr) gsi_->on_ready({});
    manager_.reset();
    gsi_.reset();
}

void Connector::retire() {
    for (auto& [neighbour, each] : outgoing_) each.endpoint.reset();
    for (auto& [neighbour, each] : incoming_) each.endpoint.reset();
    upkeep_.cancel();
}

void Connector::find(const wire::IpoibAddress& neighbour, const wire::PathRecord& path, Found found) {
    if (!identity_) return found(0);
    auto& outgoing = outgoing_[key_of(neighbour)];
    outgoing.path = path;
    if (outgoing.number != 0 || (!outgoing.endpoint && loop_.now() < outgoing.retry_at)) return found(outgoing.number);
    outgoing.waiting.push_back(std::move(found));
    if (outgoing.endpoint == nullptr) begin(key_of(neighbour), outgoing);
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
    while (bytes_of_mtu(coded) > setup_.connections->device().max_mtu()) --coded;
    return coded;
}

/// Private data of REQ and REP.
cm::PrivateData Connector::introduction() const {
    cm::PrivateData data(wire::IpoibConnected::size);
    wire::IpoibConnected{.qpn = identity_->qpn, .mtu = connected_mtu + header}.emit(
        std::span(data).first<wire::IpoibConnected::size>());
    return data;
}

wire::Psn Connector::random_psn() {
    return wire::Psn(static_cast<std::uint32_t>(std::random_device()()) & 0xffffff);
}

/// Polls the endpoints that have something to say, and sets the timer for the next.
void Connector::settle() {
    while (!ready_.empty()) {
        auto* const endpoint = ready_.back();
        ready_.pop_back();
        poll(*endpoint);
    }
    if (manager_ == nullptr) return;
    const auto due = manager_->deadline();
    if (!due) return timer_.cancel();
    timer_ = loop_.at(*due, [this] {
        manager_->tick(loop_.now());
        settle();
    });
}

/// Of an endpoint that was dropped meanwhile nothing but the address is known.
void Connector::poll(cm::Endpoint& endpoint) {
    const auto is_its = [&](const auto& each) { return each.second.endpoint.get() == &endpoint; };
    // A handler may drop it.
    const auto each_event = [this](const cm::EndpointPointer& of, const auto& use) {
        const auto held = of;
        while (auto event = held->poll(loop_.now())) use(*held, *event);
    };
    if (&endpoint == listener_.get()) {
        each_event(listener_, [this](const auto&, const cm::EndpointEvent& event) {
            if (const auto* received = std::get_if<cm::RequestReceived>(&event)) accept(*received);
        });
    } else if (const auto out = std::ranges::find_if(outgoing_, is_its); out != outgoing_.end()) {
        each_event(out->second.endpoint, [this, neighbour = out->first](const auto& of, const auto& event) {
            receive(neighbour, of, event);
        });
    } else if (const auto in = std::ranges::find_if(incoming_, is_its); in != incoming_.end()) {
        each_event(in->second.endpoint, [this, neighbour = in->first](const auto& of, const auto& event) {
            receive_incoming(neighbour, of, event);
        });
    }
}

void Connector::receive(const wire::IpoibAddress& neighbour, const cm::Endpoint& of, const cm::EndpointEvent& event) {
    const auto found = outgoing_.find(neighbour);
    if (found == outgoing_.end() || found->second.endpoint.get() != &of) return;
    auto& outgoing = found->second;
    const auto over = [&] { outgoing.number != 0 ? lose(neighbour, outgoing) : refused(outgoing); };
    std::visit(Visitor{[&](const cm::ReplyReceived& received) { connect(neighbour, outgoing, received.reply); },
                       [&](const cm::Rejected& received) {
                           over();
                           // That the connection before is over it has found out by this request.
                           if (received.rejection.reason == wire::CmRejectReason::stale_connection)
                               outgoing.pause = 0, outgoing.retry_at = loop_.now() + upkeep_period;
                       },
                       [&](const cm::Unanswered&) { over(); }, [&](const cm::DisconnectRequested&) { over(); },
                       [&](const cm::Disconnected&) { over(); }, [](const auto&) {}},
               event);
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
    const auto ready = outgoing.pair->ready_to_receive(
        {.remote = reply.qpn, .path = path.route, .mtu = bytes_of_mtu(path_mtu(outgoing.path)), .first = reply.psn});
    if (!ready) return ready;
    const auto sends = outgoing.pair->ready_to_send({.first = outgoing.first, .timeout = ack_timeout});
    if (!sends) return sends;
    if (auto told = outgoing.endpoint->ready_to_use({}, loop_.now()); !told) return told;
    outgoing.mtu = std::min(peer->mtu - header, connected_mtu);
    const auto number = setup_.connections->open(*outgoing.pair, outgoing.mtu);
    if (!number) return failure(ENOSPC, "there are too many connections");
    outgoing.number = *number;
    return {};
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

/// Ends what there is of a connection: the peer is told in the background, the queue pair goes when the shard has let
/// it go.
void Connector::end(Outgoing& outgoing) {
    outgoing.endpoint.reset();
    if (outgoing.pair == nullptr) return;
    outgoing.pair->error();
    const auto number = std::exchange(outgoing.number, ConnectionNumber{0});
    if (number == 0) return outgoing.pair.reset();
    setup_.close(number);
    closing_.push_back({number, std::move(outgoing.pair)});
}

/// First the shard forgets the neighbour, so that no packet is for a number that another may have next.
void Connector::lose(const wire::IpoibAddress& neighbour, Outgoing& outgoing) {
    counters_.connections_lost.add();
    auto pair = std::move(outgoing.pair);
    const auto number = std::exchange(outgoing.number, ConnectionNumber{0});
    outgoing.endpoint.reset();
    outgoing.retry_at = 0;
    pair->error();
    setup_.lost(neighbour);  // may have called `find`
    setup_.close(number);
    closing_.push_back({number, std::move(pair)});
}

void Connector::accept(const cm::RequestReceived& received) {
    const auto& request = received.request;
    const auto peer = wire::IpoibConnected::parse(request.private_data);
    const auto decline = [&](wire::CmRejectReason reason) {
        counters_.connections_declined.add();
        std::ignore = received.endpoint->decline({.reason = reason}, loop_.now());
    };
    if (request.transport != cm::Transport::rc) return decline(wire::CmRejectReason::invalid_transport);
    if (!peer || peer->qpn == wire::Qpn{}) return decline(wire::CmRejectReason::consumer);
    if (incoming_.size() >= Connections::max_connections) return decline(wire::CmRejectReason::no_resources);
    auto pair = make_receiver(request);
    if (!pair) return decline(wire::CmRejectReason::no_resources);
    const auto replied = received.endpoint->reply(
        {.qpn = (*pair)->qpn(), .psn = random_psn(), .shared_receive_queue = true, .private_data = introduction()},
        loop_.now());
    if (!replied) return decline(wire::CmRejectReason::no_resources);
    counters_.connections_accepted.add();
    // A neighbour that makes another has lost the one before.
    auto& incoming = incoming_[{.qpn = peer->qpn, .gid = request.primary.remote_gid}];
    drop(incoming);
    incoming = {received.endpoint, std::move(*pair)};
}

Result<std::unique_ptr<rdma::QueuePair>> Connector::make_receiver(const cm::Request& request) {
    auto pair = setup_.connections->make_receiver();
    if (!pair) return pair;
    if (auto good = (*pair)->init({.pkey = identity_->pkey}); !good) return std::unexpected(good.error());
    if (request.mtu < 1 || request.mtu > 5) return failure(EINVAL, "no such path MTU");
    const auto good = (*pair)->ready_to_receive(
        {.remote = request.qpn, .path = request.primary.route, .mtu = bytes_of_mtu(request.mtu), .first = request.psn});
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

void Connector::upkeep() {
    std::erase_if(closing_, [this](const auto& each) { return setup_.connections->closed(each.number); });
    for (auto at = outgoing_.begin(); at != outgoing_.end();) {
        const auto& neighbour = at->first;
        auto& outgoing = at->second;
        if (outgoing.waiting.empty() && !setup_.wanted(neighbour)) {
            end(outgoing);
            at = outgoing_.erase(at);
            continue;
        }
        if (outgoing.number != 0 && setup_.connections->failed(outgoing.number)) lose(neighbour, outgoing);
        const bool idle = outgoing.number == 0 && outgoing.endpoint == nullptr;
        if (idle && loop_.now() >= outgoing.retry_at) begin(neighbour, outgoing);
        ++at;
    }
    settle();
}

std::vector<Connector::Row> Connector::show() const {
    std::vector<Row> rows;
    for (const auto& [neighbour, each] : outgoing_) {
        const bool connected = each.number != 0;
        rows.push_back({.neighbour = neighbour,
                        .outgoing = true,
                        .state = connected                  ? "connected"
                                 : each.endpoint != nullptr ? "connecting"
                                                            : "datagrams",
                        .mtu = connected ? each.mtu : 0,
                        .packets = connected ? setup_.connections->sent(each.number) : 0});
    }
    for (const auto& [neighbour, each] : incoming_) {
        rows.push_back({.neighbour = neighbour, .state = "connected", .mtu = connected_mtu});
    }
    return rows;
}

void Connector::counters(const CounterVisitor& visit) const {
    counters_.each(visit);
    if (manager_ != nullptr) manager_->counters(visit);
    if (gsi_ != nullptr) gsi_->counters(visit);
}

}  // namespace verbline::ipoib
