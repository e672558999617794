// SPDX-License-Identifier: BSD-3-Clause
#include "control/ipoib/connector.h"

#include <algorithm>
#include <array>
#include <utility>
#include <variant>

#include "datapath/wire/ipoib.h"
#include "datapath/wire/ipoib_connected.h"
#include "pmd/base/random.h"

namespace verbline::ipoib {
namespace {

constexpr Time upkeep_period = 50 * millisecond;
constexpr std::uint16_t mads = 128;
constexpr std::uint32_t interface_index = 1;  // in the table of GIDs

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
         .seed = random_number(),
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
        each.number != 0 ? let_go(neighbour, each) : end(each);
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

/// Private data of REQ and REP.
cm::PrivateData Connector::introduction() const {
    cm::PrivateData data(wire::IpoibConnected::size);
    wire::IpoibConnected{.qpn = identity_->qpn, .mtu = connected_mtu + wire::IpoibHeader::size}.emit(
        std::span(data).first<wire::IpoibConnected::size>());
    return data;
}

wire::Psn Connector::random_psn() {
    return wire::Psn(static_cast<std::uint32_t>(random_number()) & 0xffffff);
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
