// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/umad/queue_pair_carrier.h"

#include <algorithm>
#include <cerrno>

#include "apps/libibverbs/port/port.h"
#include "apps/libibverbs/port/process.h"
#include "apps/libibverbs/umad/mad_class.h"

namespace verbline::verbs {
namespace {

/// The classes whose MADs QP1 hands to agents alone: not those of the connection manager and of the port itself.
template <class Act>
void each_class(Act act) {
    constexpr unsigned first = 0x02, last = 0x4f;
    for (unsigned number = first; number <= last; ++number) {
        const auto of = wire::MadClass{static_cast<std::uint8_t>(number)};
        if (of != wire::MadClass::communication && of != wire::MadClass::performance) act(of);
    }
}

FarEnd far_end_of(const mad::GmpPeer& peer, std::uint16_t pkey_index) {
    const auto& address = peer.path.address;
    FarEnd end{.lid = address.dlid, .qpn = peer.qpn, .sl = address.sl, .pkey_index = pkey_index};
    if (!address.global) return end;
    end.route = GlobalRoute{.gid = address.dgid,
                            .gid_index = static_cast<std::uint8_t>(peer.path.gid_index),
                            .hop_limit = address.hop_limit,
                            .traffic_class = address.traffic_class,
                            .flow_label = address.flow_label};
    return end;
}

mad::GmpPeer peer_of(const FarEnd& end, wire::PKey pkey) {
    mad::GmpPeer peer{
        .path = {.address = {.dlid = end.lid, .sl = end.sl}}, .qpn = end.qpn, .qkey = end.qkey, .pkey = pkey};
    if (!end.route) return peer;
    peer.path.gid_index = end.route->gid_index;
    peer.path.address.global = true;
    peer.path.address.dgid = end.route->gid;
    peer.path.address.hop_limit = end.route->hop_limit;
    peer.path.address.traffic_class = end.route->traffic_class;
    peer.path.address.flow_label = end.route->flow_label;
    return peer;
}

}  // namespace

QueuePairCarrier::~QueuePairCarrier() {
    if (gsi_ == nullptr) return;
    each_class([this](wire::MadClass of) { gsi_->receive(of, {}); });
    port_->on_performance_answer({});
    gsi_->on_ready({}, mad::Gsi::Drainer::management);
}

bool QueuePairCarrier::ready() {
    if (std::exchange(tried_, true)) return gsi_ != nullptr;
    if (const auto started = start(); !started) complain(started.error());
    return gsi_ != nullptr;
}

Result<void> QueuePairCarrier::start() {
    const auto port = open_();
    if (!port) return std::unexpected(port.error());
    arrivals_ = EventDescriptor::make();
    if (!arrivals_) return failure(errno, "umad: no descriptor for its MADs");
    const auto gsi = (*port)->gsi();
    if (!gsi) return std::unexpected(gsi.error());
    auto watch = loop_.watch(arrivals_.get(), [this](std::uint32_t) {
        arrivals_.drain();
        gsi_->drain(mad::Gsi::Drainer::management);
        port_->progress().leave();
    });
    if (!watch) return std::unexpected(watch.error());
    watch_ = std::move(*watch);
    port_ = *port;
    gsi_ = *gsi;
    const auto take = [this](std::span<const mad::GmpArrival> burst) { arrived(burst); };
    each_class([&](wire::MadClass of) { gsi_->receive(of, take); });
    port_->on_performance_answer(take);
    gsi_->on_ready([this] { arrivals_.signal(); }, mad::Gsi::Drainer::management);
    return {};
}

std::uint16_t QueuePairCarrier::index_of(wire::PKey pkey) const {
    const auto table = port_->fabric().pkeys;
    const auto found = std::ranges::find_if(table, [&](auto each) { return wire::match(each, pkey); });
    return static_cast<std::uint16_t>(found != table.end() ? found - table.begin() : 0);
}

void QueuePairCarrier::arrived(std::span<const mad::GmpArrival> burst) {
    for (const auto& arrival : burst)
        received_(1, far_end_of(arrival.from, index_of(arrival.from.pkey)), arrival.mad, arrival.mad.size());
}

void QueuePairCarrier::send(const Transmission& transmission) {
    if (transmission.qpn != 1 || !ready()) return;  // Ethernet ports have no QP0
    const auto table = port_->fabric().pkeys;
    const auto index = transmission.to.pkey_index;
    gsi_->send(peer_of(transmission.to, index < table.size() ? table[index] : table[0]), transmission.mad);
}

}  // namespace verbline::verbs
