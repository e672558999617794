// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/ucma/fabric_network.h"

#include <utility>

#include "apps/libibverbs/ucma/node_subnet.h"
#include "apps/libibverbs/ucma/own_subnet.h"
#include "control/ipoib/neighbours.h"
#include "datapath/wire/ipoib.h"

namespace verbline::verbs {
namespace {

constexpr Time broadcast_limit = 2 * second;

}  // namespace

Result<std::unique_ptr<FabricNetwork>> FabricNetwork::create(VerbsPort& port, Callbacks callbacks) {
    auto arrivals = make_arrivals(port);
    if (!arrivals) return std::unexpected(arrivals.error());
    std::unique_ptr<FabricNetwork> network(new FabricNetwork(port, std::move(callbacks), std::move(*arrivals)));
    if (auto started = network->start(); !started) return std::unexpected(started.error());
    if (auto attached = network->attach(); !attached) return std::unexpected(attached.error());
    return network;
}

FabricNetwork::~FabricNetwork() = default;

Result<void> FabricNetwork::attach() {
    auto& loop = *callbacks().loop;
    addresses_ = port().link().ipoib_addresses;
    addresses_.push_back({ipoib::ipv6_link_local_of(port().fabric().gid()), 64});
    if (port().link().lane.member) {
        subnet_ = std::make_unique<NodeSubnet>(port().name(), port().link(), port().subnet(), loop, handlers());
    } else {
        auto own = OwnSubnet::create(port(), loop, addresses_, handlers());
        if (!own) return std::unexpected(own.error());
        subnet_ = std::move(*own);
    }
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

void FabricNetwork::granted(const sa::Group& broadcast) {
    if (!attached_) {
        broadcast_ = broadcast;  // no other thread uses it yet
    } else {
        callbacks().with_service([&] { broadcast_ = broadcast; });
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

void FabricNetwork::counters(const CounterVisitor& visit) const {
    PortNetwork::counters(visit);
    subnet_->counters(visit);
}

}  // namespace verbline::verbs
