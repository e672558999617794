// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/node/shared_port.h"

#include <algorithm>
#include <cerrno>
#include <tuple>
#include <utility>

#include <net/if.h>
#include <rte_mbuf.h>

#include <fmt/format.h>

#include "control/host/kernel_group.h"
#include "control/host/kernel_neighbour.h"
#include "control/rdmacm/address.h"
#include "pmd/base/clock.h"
#include "pmd/device_queue.h"

namespace verbline::cli {
namespace {

/// For a device that has none: like a hub's, made from the address.
wire::MacAddress mac_for(const link::InterfaceAddress& address) {
    wire::MacAddress mac;
    wire::store16(mac.bytes, 0, 0x0676);
    wire::store32(mac.bytes, 2, wire::load32(address.gid.bytes, 12));
    return mac;
}

/// As many as members get.
std::vector<link::InterfaceAddress> first_addresses(const host::InterfaceAddresses& kernel) {
    return {kernel.addresses.begin(), kernel.addresses.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                                     kernel.addresses.size(), hub::max_addresses))};
}

}  // namespace

Result<std::unique_ptr<SharedPort>> SharedPort::create(const NodeOptions& options, control::Loop& loop,
                                                       rte_mempool* pool, const Open& open) {
    std::unique_ptr<SharedPort> made(new SharedPort(loop, pool));
    if (auto opened = made->open(options, open); !opened) return std::unexpected(opened.error());
    return made;
}

Result<void> SharedPort::open(const NodeOptions& options, const Open& open) {
    auto device = options.fabric ? open_fabric(options) : open_ethernet(options, open);
    if (!device) return std::unexpected(device.error());
    auto queue = node::GsiQueue::create("node.gsi");
    if (!queue) return std::unexpected(queue.error());
    queue_ = std::move(*queue);
    xrc_targets_.emplace(pool_, [this] {
        if (fabric_ != nullptr) fabric_->wake_waiting();
    });
    xrc_host_.emplace(
        *xrc_targets_, identity_,
        fabric_side_ == nullptr ? NodeXrcHost::Subnet() : [this] { return fabric_side_->subnet().port().facts; });
    if (auto made = make_port(std::move(*device)); !made) return made;
    xrc_targets_->attach(link::node_itself, *wire_);
    next_hops_.use(neighbours_, [this](const wire::Gid& from, const wire::Gid& to, Time timeout) {
        return host::resolve_kernel_neighbour(ifindex_, from, to, timeout);
    });
    return {};
}

Result<void> SharedPort::make_port(std::unique_ptr<pmd::NetDevice> device) {
    for (auto& queue : pmd::DeviceQueue::split(std::move(device))) {
        auto port = node::WirePort::create(std::move(queue), {*queue_, *xrc_targets_}, identity_.mac,
                                           static_cast<unsigned>(port_.size()));
        if (!port) return std::unexpected(port.error());
        if (wire_ == nullptr) wire_ = port->get();
        port_.push_back(std::move(*port));
    }
    return {};
}

Result<std::unique_ptr<pmd::NetDevice>> SharedPort::open_ethernet(const NodeOptions& options, const Open& open) {
    const auto* const ethernet = std::get_if<pmd::EthernetSpec>(&options.port);
    if (options.addresses.empty()) {
        if (ethernet == nullptr) {
            return failure(EINVAL, "this port has no addresses of its own: name the node's with --ip");
        }
        if (auto taken = take_kernel_identity(*ethernet); !taken) return std::unexpected(taken.error());
    }
    auto device = open(options.port);
    if (!device || options.addresses.empty()) return device;
    identity_ = {.mac = (*device)->mac().value_or(mac_for(options.addresses.front())),
                 .addresses = options.addresses,
                 .fabric = {}};
    auto discovery =
        std::make_unique<neighbour::NeighbourDevice>(std::move(*device), identity_.mac, pool_, monotonic_now);
    discovery->set_addresses(identity_.addresses);
    neighbours_ = discovery.get();
    return discovery;
}

Result<void> SharedPort::take_kernel_identity(const pmd::EthernetSpec& port) {
    const auto index = if_nametoindex(port.interface.c_str());
    auto watch = host::InterfaceWatch::open(index);  // first: changes from here on are reported
    if (!watch) return std::unexpected(watch.error());
    auto kernel = host::kernel_addresses(port.interface);
    if (!kernel) return std::unexpected(kernel.error());
    interface_ = port.interface;
    ifindex_ = kernel->ifindex;
    watch_.emplace(std::move(*watch));
    identity_ = {.mac = kernel->mac, .addresses = first_addresses(*kernel), .fabric = {}};
    auto guard = host::UdpGuard::open();
    if (!guard) return std::unexpected(guard.error());
    guard_.emplace(std::move(*guard));
    return {};
}

Result<void> SharedPort::serve(pmd::Switch& fabric, hub::Server& server) {
    fabric_ = &fabric;
    server_ = &server;
    auto gsi = node::NodeGsi::create(
        loop_, *queue_,
        {.router = {.holder = [this](const node::RequestTarget& target) { return holder(target); },
                    .attached = [this](link::MemberId member) { return members_.contains(member); }},
         .mac = identity_.mac,
         .pool = pool_,
         .ipoib = fabric_side_ == nullptr ? std::function<void(wire::Bytes)>()
                                          : [this](wire::Bytes frame) { fabric_side_->subnet().received(frame); },
         .inject = [this](node::PeerMember to, rte_mbuf* frame) { inject(to, frame); }});
    if (!gsi) return std::unexpected(gsi.error());
    gsi_ = std::move(*gsi);
    if (fabric_side_ != nullptr) return serve_fabric();
    return watch_ ? watch_kernel() : Result<void>();
}

Result<void> SharedPort::watch_kernel() {
    auto news = loop_.watch(watch_->fd(), [this](std::uint32_t) {
        const auto what = watch_->receive();
        if (what && *what == host::InterfaceWatch::News::nothing) return;
        if (what && *what == host::InterfaceWatch::News::changed) return look();
        kernel_news_ = {};
        if (gone_) gone_(what ? fmt::format("the interface {} is gone", interface_) : what.error().what);
    });
    if (!news) return std::unexpected(news.error());
    kernel_news_ = std::move(*news);
    return {};
}

void SharedPort::look() {
    const auto now = host::kernel_addresses(interface_);
    if (!now) return;  // interface removed, which is reported separately; or busy: retry at the next change
    if (now->mac != identity_.mac) {
        if (gone_)
            gone_(fmt::format("the MAC address of {} has changed, by which all peers know this node", interface_));
        return;
    }
    auto addresses = first_addresses(*now);
    if (addresses != identity_.addresses) adopt(std::move(addresses));
}

void SharedPort::set_addresses(const std::vector<link::InterfaceAddress>& addresses) {
    neighbours_->set_addresses(addresses);
    adopt(addresses);
}

/// Members are told.
void SharedPort::adopt(std::vector<link::InterfaceAddress> addresses) {
    identity_.addresses = std::move(addresses);
    server_->set_addresses(identity_.addresses);
    if (changed_) changed_();
}

std::optional<link::MemberId> SharedPort::holder(const node::RequestTarget& target) const {
    const auto port = rdmacm::port_of(target.service);
    if (!port) return std::nullopt;
    const auto lane = server_->registry().holder({std::to_underlying(port->first), port->second}, target.destination);
    return lane ? std::optional(member_of(*lane)) : std::nullopt;
}

void SharedPort::inject(node::PeerMember to, rte_mbuf* frame) {
    if (to && !members_.contains(*to)) return rte_pktmbuf_free(frame);
    auto& port = to ? static_cast<node::NodePort&>(*members_.at(*to)) : *wire_;
    port.inject(frame);
    fabric_->wake();
}

Result<std::unique_ptr<pmd::NetDevice>> SharedPort::member(hub::LaneId lane, std::unique_ptr<pmd::NetDevice> device) {
    const auto id = member_of(lane);
    auto port = node::MemberPort::create(std::move(device), {*queue_, *xrc_targets_}, id, identity_.mac);
    if (!port) return std::unexpected(port.error());
    members_[id] = port->get();
    xrc_targets_->attach(id, **port);
    return std::move(*port);
}

void SharedPort::forget(hub::LaneId lane) {
    members_.erase(member_of(lane));
    xrc_targets_->detach(member_of(lane));
}

void SharedPort::leave(hub::LaneId lane) {
    for (const auto& group : server_->registry().tenant(lane).groups) leave(group);
    gsi_->leave(member_of(lane));
    left_[member_of(lane)] = loop_.now();
}

Result<void> SharedPort::set_group(const hub::GroupMembership& group) {
    if (!group.member) {
        leave(group.mac);
        return {};
    }
    auto& joined = groups_[group.mac];
    if (joined.members == 0) {
        joined.group = {.mac = group.mac, .mgid = group.mgid, .mlid = group.mlid};
        if (auto done = join(joined); !done) {
            groups_.erase(group.mac);
            return done;
        }
    }
    ++joined.members;
    return {};
}

/// A device without multicast filters accepts all groups. If the kernel does not report the membership, frames may
/// still arrive, from a switch without snooping for example.
Result<void> SharedPort::join(Joined& joined) {
    if (fabric_side_ != nullptr) return fabric_side_->join(joined.group);
    const auto error = wire_->attach_multicast(joined.group);
    if (error && error != std::errc::operation_not_supported) {
        return failure(error.value(),
                       fmt::format("{}: the group cannot be joined: {}", wire_->name(), error.message()));
    }
    if (neighbours_ != nullptr) {
        neighbours_->join(joined.group.mgid);
    } else if (auto kernel = host::join_kernel_group(ifindex_, joined.group.mgid)) {
        joined.kernel = std::move(*kernel);
    }
    return {};
}

void SharedPort::leave(const wire::MacAddress& group) {
    const auto found = groups_.find(group);
    if (found == groups_.end() || --found->second.members != 0) return;
    if (fabric_side_ != nullptr) {
        fabric_side_->leave(found->second.group);
    } else {
        std::ignore = wire_->detach_multicast(found->second.group);
    }
    if (neighbours_ != nullptr) neighbours_->leave(found->second.group.mgid);
    groups_.erase(found);
}

/// A member asks until it has heard the outcome, or gives up.
Result<wire::MacAddress> SharedPort::resolve(const hub::Resolve& wanted) {
    if (const auto mac = next_hops_.find(wanted.from, wanted.to)) return *mac;
    if (const int code = next_hops_.failure_of(wanted.from, wanted.to); code != 0) {
        return failure(code, "there is no next hop");
    }
    next_hops_.resolve(wanted.from, wanted.to);
    return failure(EINPROGRESS, "not yet");
}

void SharedPort::upkeep(Time now) {
    server_->look_after_xrc();
    std::erase_if(left_, [&](const auto& entry) {
        const auto& [member, since] = entry;
        if (now - since < time_wait || gsi_->closing(member)) return false;
        server_->registry().free(hub::LaneId{std::to_underlying(member)});
        return true;
    });
}

void SharedPort::counters(const CounterVisitor& visit) const {
    gsi_->counters(visit);
    next_hops_.counters(visit);
    if (fabric_side_ != nullptr) fabric_side_->subnet().counters(visit);
    xrc_targets_->counters(visit);
}

}  // namespace verbline::cli
