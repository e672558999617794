// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/node/fabric_side.h"

#include <cerrno>
#include <tuple>

#include <sys/epoll.h>

#include <fmt/format.h>

#include "apps/libibverbs/launch/launch.h"
#include "apps/libibverbs/settings/fabric_port.h"
#include "control/mad/ibsim.h"
#include "datapath/link/soft_ib.h"
#include "pmd/memif/memif.h"

namespace verbline::cli {
namespace {

constexpr Time move_interval = 50 * millisecond;
constexpr Time move_limit = 10 * second;  ///< for another port to give up the LID that is ours now

}  // namespace

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
    auto lane = verbs::join_fabric(place, link::soft_ib::mac_of(port->lid), addresses);
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
    side->mac_ = side->lane_.mac;
    side->memif_ = device->get();
    side->device_ = std::move(*device);
    return side;
}

FabricSide::~FabricSide() = default;

Result<void> FabricSide::serve(Callbacks callbacks) {
    callbacks_ = std::move(callbacks);
    if (auto watched = watch_lane(); !watched) return watched;
    subnet_ = std::make_unique<node::SubnetService>(
        *transport_, loop_,
        node::SubnetService::Setup{
            .addresses = lane_.addresses,
            .send = callbacks_.send,
            .join_link = [this](const wire::Gid& mgid, wire::Lid mlid) { return join_own(mgid, mlid); },
            .tell = callbacks_.tell,
            .changed = callbacks_.changed,
            .moved = [this] { follow_lid(); }});
    return {};
}

Result<void> FabricSide::watch_lane() {
    auto watch = loop_.watch(
        lane_.control.get(),
        [this](std::uint32_t events) {
            if ((events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) == 0) return;
            lane_watch_ = {};
            callbacks_.gone(fmt::format("the hub of fabric `{}` has ended", place_.fabric));
        },
        EPOLLRDHUP);
    if (!watch) return std::unexpected(watch.error());
    lane_watch_ = std::move(*watch);
    return {};
}

void FabricSide::follow_lid() {
    mac_ = link::soft_ib::mac_of(transport_->port().lid);
    callbacks_.moved();
    lane_watch_ = {};
    move_timer_ = {};
    memif_->move_to({});  // the path may be another port's lane's next
    lane_.control = {};   // with which the hub has its addresses back
    move_until(loop_.now() + move_limit);
}

void FabricSide::move_until(Time limit) {
    const auto moved = move();
    if (moved) return;
    if (moved.error().code != EADDRINUSE || loop_.now() >= limit) {
        return callbacks_.gone(fmt::format("its new LID cannot be had on the fabric: {}", moved.error().what));
    }
    move_timer_ = loop_.after(move_interval, [this, limit] { move_until(limit); });
}

Result<void> FabricSide::move() {
    auto lane = verbs::join_fabric(place_, mac_, lane_.addresses);
    if (!lane) return std::unexpected(lane.error());
    if (lane->mtu != lane_.mtu) return failure(EMSGSIZE, "the hub has another MTU than before");
    lane_ = std::move(*lane);
    memif_->move_to(lane_.memif_socket);
    if (auto joined = rejoin_groups(); !joined) return joined;
    return watch_lane();
}

Result<void> FabricSide::rejoin_groups() const {
    for (const auto& [mac, joined] : joined_) {
        const auto& group = joined.group;
        if (auto in = hub::join_group(lane_, group.mac, group.mgid, group.mlid); !in) return in;
    }
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
    const auto [joined, first] = joined_.try_emplace(group.mac, Joined{.group = group});
    if (first && lane_.control) {
        if (auto in = hub::join_group(lane_, group.mac, group.mgid, group.mlid); !in) {
            joined_.erase(joined);
            return in;
        }
    }
    ++joined->second.users;
    return {};
}

void FabricSide::leave(const pmd::MulticastAddress& group) {
    const auto joined = joined_.find(group.mac);
    if (joined == joined_.end() || --joined->second.users != 0) return;
    joined_.erase(joined);
    // If that fails the hub has ended, and with it the membership.
    std::ignore = hub::leave_group(lane_, group.mac, group.mgid, group.mlid);
}

}  // namespace verbline::cli
