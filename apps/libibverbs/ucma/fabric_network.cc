// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/ucma/fabric_network.h"

#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "apps/libibverbs/port/process.h"
#include "control/mad/ibsim.h"
#include "datapath/link/ip_gid.h"
#include "datapath/wire/ipoib.h"
#include "datapath/wire/text.h"

namespace verbline::verbs {
namespace {

constexpr Time broadcast_limit = 2 * second;

}  // namespace

Result<std::unique_ptr<FabricNetwork>> FabricNetwork::create(VerbsPort& port, const InfinibandLink& link,
                                                             Callbacks callbacks) {
    auto arrivals = make_arrivals(port);
    if (!arrivals) return std::unexpected(arrivals.error());
    std::unique_ptr<FabricNetwork> network(new FabricNetwork(port, std::move(callbacks), std::move(*arrivals)));
    if (auto started = network->start(); !started) return std::unexpected(started.error());
    if (auto attached = network->attach(link); !attached) return std::unexpected(attached.error());
    return network;
}

FabricNetwork::~FabricNetwork() = default;

Result<void> FabricNetwork::attach(const InfinibandLink& link) {
    auto& loop = *callbacks().loop;
    addresses_ = port().link().ipoib_addresses;
    addresses_.push_back({ipoib::ipv6_link_local_of(port().link().fabric.gid()), 64});
    auto transport = mad::IbsimTransport::open(link.fabric, link.host, loop);
    if (!transport) return std::unexpected(transport.error());
    transport_ = std::move(*transport);
    agent_ = std::make_unique<sa::Agent>(*transport_, loop);
    port_events_ = agent_->on_event([this](mad::PortEvent event) { port_event(event); });
    auto pair = IpoibQueuePair::create(port());
    if (!pair) return std::unexpected(pair.error());
    pair_ = std::move(*pair);
    auto watch = loop.watch(pair_->arrivals(), [this](std::uint32_t) {
        pair_->drain([this](wire::Bytes packet) { neighbours_->received(packet); });
        port().progress().leave();
    });
    if (!watch) return std::unexpected(watch.error());
    watch_ = std::move(*watch);
    neighbours_ = std::make_unique<ipoib::IpoibNeighbours>(
        loop, *agent_,
        ipoib::IpoibNeighbours::Setup{
            .qpn = pair_->qpn(),
            .addresses = addresses_,
            .send = [this](const wire::AddressHandle& to, wire::Qpn qpn,
                           wire::Bytes packet) { pair_->send(to, qpn, packet); },
            .on_group = [this](const auto& mgid, const auto& group) { granted(mgid, group); }});
    await_broadcast_group();
    return {};
}

/// Programs assume that an interface has joined its broadcast group, and query its Q_Key only once.
void FabricNetwork::await_broadcast_group() {
    auto& loop = *callbacks().loop;
    for (const auto until = loop.now() + broadcast_limit; !broadcast_ && loop.now() < until;) {
        loop.run_once(until - loop.now());
    }
    attached_ = true;
}

/// A group of IPoIB's own.
void FabricNetwork::granted(const wire::Gid& mgid, const sa::Group& group) {
    if (auto joined = pair_->join(mgid, group); !joined) complain(joined.error());
    if (mgid != neighbours_->broadcast_mgid()) return;
    if (!attached_) {
        broadcast_ = group;  // no other thread uses it yet
    } else {
        callbacks().with_service([&] { broadcast_ = group; });
    }
}

rdmacm::NetworkPort::Facts FabricNetwork::facts() const {
    auto facts = PortNetwork::facts();
    facts.addresses = addresses_;
    facts.broadcast_group = wire::ipoib_broadcast_mgid(wire::PKey{0xffff});
    if (broadcast_) facts.broadcast_qkey = broadcast_->qkey;
    if (broadcast_) facts.rate = broadcast_->rate;
    return facts;
}

/// The agent rejoins groups and queries paths again. But packets carry the LID that the port had when it was opened,
/// and are delivered by that LID (its lane of the hub).
void FabricNetwork::port_event(mad::PortEvent event) {
    if (event != mad::PortEvent::lid_change && event != mad::PortEvent::gid_change) return;
    const auto &opened = port().link().fabric, &now = agent_->port();
    PortWatch::News news;
    if (now.lid != opened.lid || now.gid() != opened.gid()) {
        news.missing.push_back(opened.gid());
        complain(
            {EADDRNOTAVAIL, fmt::format("{}: the subnet manager has given the port another address (LID {}, was {}); "
                                        "end the program, and start it again",
                                        port().name(), wire::to_string(now.lid), wire::to_string(opened.lid))});
    }
    link_changed(news);
}

void FabricNetwork::counters(const CounterVisitor& visit) const {
    PortNetwork::counters(visit);
    agent_->counters(visit);
    neighbours_->counters(visit);
    pair_->counters(visit);
}

}  // namespace verbline::verbs
