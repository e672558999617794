// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/ucma/port_network.h"

#include <algorithm>
#include <cerrno>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "apps/libibverbs/abi/convert.h"
#include "apps/libibverbs/port/process.h"
#include "control/cm/member_ids.h"
#include "control/host/privileged_port.h"
#include "datapath/wire/pkey_table.h"
#include "pmd/base/random.h"

namespace verbline::verbs {
namespace {

constexpr std::uint8_t rate_100_gigabits = 16;  ///< coded, as usual_gigabits

}  // namespace

PortNetwork::PortNetwork(VerbsPort& port, Callbacks callbacks, EventDescriptor arrivals)
    : port_(port), callbacks_(std::move(callbacks)), arrivals_(std::move(arrivals)) {}

Result<EventDescriptor> PortNetwork::make_arrivals(const VerbsPort& port) {
    auto arrivals = EventDescriptor::make();
    if (!arrivals) return failure(errno, fmt::format("{}: no descriptor for its MADs", port.name()));
    return arrivals;
}

Result<std::unique_ptr<PortNetwork>> PortNetwork::create(VerbsPort& port, Callbacks callbacks) {
    auto arrivals = make_arrivals(port);
    if (!arrivals) return std::unexpected(arrivals.error());
    std::unique_ptr<PortNetwork> network(new PortNetwork(port, std::move(callbacks), std::move(*arrivals)));
    if (auto started = network->start(); !started) return std::unexpected(started.error());
    return network;
}

Result<void> PortNetwork::start() {
    const auto gsi = port_.gsi();
    if (!gsi) return std::unexpected(gsi.error());
    gsi_ = *gsi;
    const auto own_index = [this](const wire::Gid& gid) { return gid_index(gid, usual_type()); };
    const auto elsewhere = [this](wire::CmServiceId service) {
        const auto bound = rdmacm::port_of(service);
        return bound && port_.ports().elsewhere(std::to_underlying(bound->first), bound->second);
    };
    const auto bound = [this](wire::CmServiceId service) { return callbacks_.bound(*this, service); };
    manager_ = cm::Manager::create(cm::Manager::Options{.ca_guid = port_.guid(),
                                                        .seed = random_number(),
                                                        .ids = cm::ids_of(port_.link().lane.member),
                                                        .on_ready = callbacks_.on_ready,
                                                        .gid_index = own_index,
                                                        .shared = port_.link().shared(),
                                                        .elsewhere = elsewhere,
                                                        .bound = bound},
                                   *gsi_);
    // First: from now on nobody else drains, and the receiver is called with the service held.
    gsi_->on_ready([this] { notify_arrivals(); });
    gsi_->receive(wire::MadClass::communication,
                  [this](std::span<const mad::GmpArrival> burst) { manager_->receive(burst, callbacks_.now()); });
    port_.on_next_hop([this] {
        callbacks_.later([this] { callbacks_.with_service([this] { answer_resolved(callbacks_.now()); }); });
    });
    auto watch = PortWatch::open(port_.link(), *callbacks_.loop, [this](const auto& news) { link_changed(news); });
    if (!watch) return std::unexpected(watch.error());
    watch_ = std::move(*watch);
    port_.on_change([this] {
        callbacks_.later([this] { callbacks_.with_service([this] { callbacks_.changed(*this, gone()); }); });
    });
    return {};
}

/// Runs on the thread that polls the port.
void PortNetwork::notify_arrivals() {
    arrived_.store(true, std::memory_order_relaxed);
    if (!callbacks_.holds_service() && !port_.progress().ask_helper()) notify_others();
}

void PortNetwork::notify_others() const {
    arrivals_.signal();
}

PortNetwork::~PortNetwork() {
    if (gsi_ == nullptr) return;
    port_.on_next_hop({});
    port_.on_change({});
    gsi_->receive(wire::MadClass::communication, {});
    gsi_->on_ready({});
}

/// Reports the change to affected ids (RDMA_CM_EVENT_ADDR_CHANGE, RDMA_CM_EVENT_DEVICE_REMOVAL).
void PortNetwork::link_changed(const PortWatch::News& news) {
    if (news.gone) complain(*news.gone);
    if (news.present) port_.set_addresses(*news.present);
    callbacks_.with_service([&] {
        missing_ = news.missing;
        interface_gone_ = news.gone.has_value();
        callbacks_.changed(*this, gone());
    });
}

void PortNetwork::clear_arrivals() const {
    arrivals_.drain();
}

void PortNetwork::receive() {
    arrived_.store(false, std::memory_order_relaxed);
    gsi_->drain();
}

void PortNetwork::tick(Time now) {
    manager_->tick(now);
    if (!waiting_.empty() && now >= next_timeout_) answer_resolved(now);
}

std::optional<Time> PortNetwork::deadline() const {
    auto due = manager_->deadline();
    if (!waiting_.empty()) due = due ? std::min(*due, next_timeout_) : next_timeout_;
    return due;
}

void PortNetwork::counters(const CounterVisitor& visit) const {
    manager_->counters(visit);
    gsi_->counters(visit);
}

rdmacm::NetworkPort::Facts PortNetwork::facts() const {
    const auto& link = port_.link();
    const auto& gids = port_.gids();
    const auto fabric = port_.fabric();
    auto addresses = port_.addresses();
    std::erase_if(addresses, [this](const auto& address) { return gone() || missing(address.gid); });
    return {.name = port_.name(),
            .device_index = port_.index(),
            .guid = port_.guid(),
            .kind = port_.infiniband() ? link::GidTable::Kind::ib : link::GidTable::Kind::roce,
            .addresses = std::move(addresses),
            .ifindex = link.interface.empty() ? 0 : link.ifindex,  // any scope, where the kernel has none
            .port_gid = gids.at(0).value_or(link::GidEntry{}).gid,
            .lid = fabric.lid,
            .pkey = wire::own_pkey(fabric.pkeys, wire::default_pkey),
            .pkeys = fabric.pkeys,
            .mtu = static_cast<std::uint8_t>(to_mtu(port_.device().max_mtu())),
            .rate = rate_100_gigabits,
            .active = port_.active() && !gone()};
}

link::GidType PortNetwork::usual_type() const {
    return port_.infiniband() ? link::GidType::ib : link::GidType::roce_v2;
}

bool PortNetwork::missing(const wire::Gid& gid) const {
    return std::ranges::find(missing_, gid) != missing_.end();
}

std::optional<unsigned> PortNetwork::gid_index(const wire::Gid& gid, link::GidType type) const {
    if (gone() || missing(gid)) return std::nullopt;
    const auto found = port_.gids().find(gid, type, std::nullopt);
    return found ? std::optional(static_cast<unsigned>(*found)) : std::nullopt;
}

Result<std::uint16_t> PortNetwork::reserve(rdmacm::PortSpace space, std::uint16_t number, const rdmacm::PortUse& use) {
    if (auto may = host::may_bind(number); !may) return std::unexpected(may.error());
    return port_.ports().reserve(std::to_underlying(space), number, use);
}

Result<void> PortNetwork::rebind(rdmacm::PortSpace space, std::uint16_t number, const rdmacm::PortUse& from,
                                 const rdmacm::PortUse& to) {
    return port_.ports().rebind(std::to_underlying(space), number, from, to);
}

void PortNetwork::release(rdmacm::PortSpace space, std::uint16_t number, const rdmacm::PortUse& use) {
    std::ignore = port_.ports().release(std::to_underlying(space), number, use);
}

}  // namespace verbline::verbs
