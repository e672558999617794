// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/ucma/ipoib_queue_pair.h"

#include <cerrno>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "datapath/wire/pkey_table.h"

namespace verbline::verbs {
namespace {

constexpr std::size_t longest = 128;  ///< bytes of a packet; ARP takes 60, ND 92
constexpr std::size_t most_at_once = 64;
constexpr std::uint16_t nowhere = 0xffff;  ///< no table is that long (IBTA volume 1, 10.9.2: its index has 16 bits)

}  // namespace

Result<std::unique_ptr<IpoibQueuePair>> IpoibQueuePair::create(VerbsPort& port, wire::PKey pkey) {
    std::unique_ptr<IpoibQueuePair> made(new IpoibQueuePair(port, pkey));
    if (auto started = made->start(); !started) return std::unexpected(started.error());
    return made;
}

Result<void> IpoibQueuePair::start() {
    arrivals_ = EventDescriptor::make();
    if (!arrivals_) return failure(errno, fmt::format("{}: no descriptor for IPoIB packets", port_.name()));
    auto datagrams = rdma::Datagrams::create(
        {.device = &port_.device(), .longest = longest, .on_arrival = [this] { arrivals_.signal(); }});
    if (!datagrams) return std::unexpected(datagrams.error());
    datagrams_ = std::move(*datagrams);
    return follow(port_.fabric().pkeys);
}

/// The entry at an index is followed by the queue pair itself.
Result<void> IpoibQueuePair::follow(std::span<const wire::PKey> pkeys) {
    const auto index = wire::pkey_index(pkeys, pkey_);
    if (std::exchange(pkey_index_, index) == index) return {};
    return datagrams_->restart({.pkey_index = index.value_or(nowhere), .qkey = qkey_.value_or(wire::QKey{})});
}

IpoibQueuePair::~IpoibQueuePair() {
    while (!joined_.empty()) leave(joined_.begin()->first);
}

Result<void> IpoibQueuePair::join(const wire::Gid& mgid, const sa::Group& group) {
    if (const auto before = joined_.find(mgid); before != joined_.end() && before->second == group) return {};
    leave(mgid);
    if (auto joined = port_.groups().join(mgid, group.mlid); !joined) return joined;
    if (auto attached = datagrams_->pair().attach(mgid); !attached) {
        port_.groups().leave(mgid, group.mlid);
        return attached;
    }
    qkey_ = group.qkey;
    datagrams_->pair().set_qkey(group.qkey);
    joined_.emplace(mgid, group);
    return {};
}

void IpoibQueuePair::leave(const wire::Gid& mgid) {
    const auto joined = joined_.extract(mgid);
    if (!joined) return;
    std::ignore = datagrams_->pair().detach(mgid);
    port_.groups().leave(mgid, joined.mapped().mlid);
}

void IpoibQueuePair::send(const wire::AddressHandle& to, wire::Qpn qpn, wire::Bytes packet) {
    counters_.ipoib_tx_dropped.add(datagrams_->take_failures());
    if (!qkey_) return counters_.ipoib_tx_dropped.add();
    const auto sent = datagrams_->send({.path = {.address = to}, .qpn = qpn, .qkey = *qkey_}, packet);
    if (sent != rdma::Datagrams::Sent::yes) return counters_.ipoib_tx_dropped.add();
    counters_.ipoib_tx_packets.add();
    port_.progress().posted();
}

void IpoibQueuePair::drain(const Receiver& receive) {
    arrivals_.drain();
    const auto take = [&](const transport::Completion&, rdma::Datagrams::Route, wire::Bytes packet) {
        if (packet.empty()) return counters_.ipoib_rx_errors.add();
        counters_.ipoib_rx_packets.add();
        receive(packet);
    };
    while (datagrams_->drain(most_at_once, take) >= most_at_once) {}
}

}  // namespace verbline::verbs
