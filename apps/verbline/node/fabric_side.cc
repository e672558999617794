// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/node/fabric_side.h"

#include <tuple>

#include <sys/epoll.h>

#include <fmt/format.h>

#include "apps/libibverbs/launch/launch.h"
#include "apps/libibverbs/settings/fabric_port.h"
#include "control/mad/ibsim.h"
#include "datapath/link/soft_ib.h"
#include "pmd/memif/memif.h"

namespace verbline::cli {

Result<std::unique_ptr<FabricSide>> FabricSide::open(const verbs::InfinibandLink& place,
                                                     const std::vector<link::InterfaceAddress>& addresses,
                                                     control::Loop& loop, rte_mempool* pool) {
    const auto port = verbs::fabric_port(place);
    if (!port) return std::unexpected(port.error());
    if (!hub::runs(place.fabric)) {
        if (auto started = hub::start(place.fabric, verbs::own_program()); !started) {
            return std::unexpected(started.error());
        }
    }
    std::unique_ptr<FabricSide> side(new FabricSide(place, loop));
    auto lane = verbs::join_fabric(place, *port, addresses);
    if (!lane) return std::unexpected(lane.error());
    side->lane_ = std::move(*lane);
    auto transport = mad::IbsimTransport::open(place.fabric, place.host, loop);
    if (!transport) return std::unexpected(transport.error());
    side->transport_ = std::move(*transport);
    auto device = pmd::Memif::create({.path = side->lane_.memif_socket,
                                      .log2_ring_size = hub::Lane::log2_ring_size,
                                      .buffer_size = side->lane_.slot_size(),
                                      .mtu = side->lane_.mtu},
                                     pool);
    if (!device) return std::unexpected(device.error());
    side->device_ = std::move(*device);
    return side;
}

FabricSide::~FabricSide() = default;

Result<void> FabricSide::serve(Callbacks callbacks) {
    auto watch = loop_.watch(
        lane_.control.get(),
        [this, gone = callbacks.gone](std::uint32_t events) {
            if ((events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) == 0) return;
            lane_watch_ = {};
            gone(fmt::format("the hub of fabric `{}` has ended", place_.fabric));
        },
        EPOLLRDHUP);
    if (!watch) return std::unexpected(watch.error());
    lane_watch_ = std::move(*watch);
    subnet_ = std::make_unique<node::SubnetService>(
        *transport_, loop_,
        node::SubnetService::Setup{
            .addresses = lane_.addresses,
            .send = std::move(callbacks.send),
            .join_link = [this](const wire::Gid& mgid, wire::Lid mlid) { return join_own(mgid, mlid); },
            .tell = std::move(callbacks.tell),
            .changed = std::move(callbacks.changed),
            .lost =
                [gone = std::move(callbacks.gone)] {
                    gone("the subnet manager has given the port another address, by which programs do not know it");
                }});
    return {};
}

/// IPoIB's own, which stay as long as the node.
Result<void> FabricSide::join_own(const wire::Gid& mgid, wire::Lid mlid) {
    const pmd::MulticastAddress group{.mac = link::soft_ib::mac_of(mlid), .mgid = mgid, .mlid = mlid};
    const auto before = own_groups_.find(mgid);
    if (before != own_groups_.end()) {
        if (before->second.mlid == mlid) return {};
        leave(before->second);
        own_groups_.erase(before);
    }
    if (auto joined = join(group); !joined) return joined;
    own_groups_.emplace(mgid, group);
    return {};
}

Result<void> FabricSide::join(const pmd::MulticastAddress& group) {
    const auto [users, first] = joined_.try_emplace(group.mac, 0u);
    if (first) {
        if (auto in = hub::join_group(lane_, group.mac, group.mgid, group.mlid); !in) {
            joined_.erase(users);
            return in;
        }
    }
    ++users->second;
    return {};
}

void FabricSide::leave(const pmd::MulticastAddress& group) {
    const auto users = joined_.find(group.mac);
    if (users == joined_.end() || --users->second != 0) return;
    joined_.erase(users);
    // If that fails the hub has ended, and with it the membership.
    std::ignore = hub::leave_group(lane_, group.mac, group.mgid, group.mlid);
}

}  // namespace verbline::cli
