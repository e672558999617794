// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What makes a hub a node: one port with one identity, of which the programs are members.
///
///     open_port ──> WirePort ──> an uplink of the switch
///     member    ──> MemberPort ─> its lane
///     QP1       <──> NodeGsi
///     next hops <──> the kernel, or our own discovery on the link
///     groups    ───> joined on the link once, however many members join
///     subnet    <──> FabricSide, on a soft fabric
///     XRC targets that members share <──> XrcTargets
///
/// Control thread.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/verbline/node/fabric_side.h"
#include "apps/verbline/node/xrc_host.h"
#include "control/host/interface_watch.h"
#include "control/host/next_hops.h"
#include "control/host/udp_guard.h"
#include "control/hub/server.h"
#include "control/node/node_gsi.h"
#include "datapath/neighbour/device.h"
#include "datapath/node/member_port.h"
#include "datapath/node/wire_port.h"
#include "pmd/bridge/switch.h"
#include "pmd/factory/device_spec.h"

namespace verbline::cli {

struct NodeOptions {
    pmd::DeviceSpec port;
    std::optional<verbs::InfinibandLink> fabric;    ///< instead of `port`: a port of a soft fabric
    std::vector<link::InterfaceAddress> addresses;  ///< none: the kernel's, of an `eth:` port
};

class SharedPort {
public:
    /// `open` opens the port's device. The rest are the hub's.
    using Open = std::function<Result<std::unique_ptr<pmd::NetDevice>>(const pmd::DeviceSpec&)>;
    static Result<std::unique_ptr<SharedPort>> create(const NodeOptions& options, control::Loop& loop,
                                                      rte_mempool* pool, const Open& open);
    SharedPort(const SharedPort&) = delete;
    SharedPort& operator=(const SharedPort&) = delete;

    const hub::NodeIdentity& identity() const { return identity_; }
    /// Once: the devices of the switch's uplink, one for each queue of the port.
    std::vector<std::unique_ptr<pmd::NetDevice>> take_port() { return std::move(port_); }
    /// Before members come.
    Result<void> serve(pmd::Switch& fabric, hub::Server& server);

    Result<std::unique_ptr<pmd::NetDevice>> member(hub::LaneId lane, std::unique_ptr<pmd::NetDevice> device);
    /// Before its port is removed from the switch.
    void forget(hub::LaneId lane);
    /// After that.
    void leave(hub::LaneId lane);
    Result<void> set_group(const hub::GroupMembership& group);
    Result<wire::MacAddress> resolve(const hub::Resolve& wanted);
    hub::XrcHost* xrc() { return &*xrc_host_; }
    /// Null on Ethernet.
    hub::SubnetHost* subnet() { return fabric_side_ != nullptr ? &fabric_side_->subnet() : nullptr; }
    const sa::Agent* subnet_agent() const {
        return fabric_side_ != nullptr ? &fabric_side_->subnet().agent() : nullptr;
    }
    /// Whether the addresses are the node's own, and can be set: of a port on Ethernet that was given some.
    bool has_own_addresses() const { return neighbours_ != nullptr && fabric_side_ == nullptr; }
    void set_addresses(const std::vector<link::InterfaceAddress>& addresses);
    /// Call a few times a second: frees numbers of members that have left.
    void upkeep(Time now);
    /// Sets the handler for changed addresses, when members have been told, and for the end of the port, with the
    /// reason.
    void on_change(std::function<void()> changed, std::function<void(const std::string&)> gone) {
        changed_ = std::move(changed);
        gone_ = std::move(gone);
    }
    void counters(const CounterVisitor& visit) const;

private:
    /// QPNs of a member that has left are not used again before late packets for them have gone.
    static constexpr Time time_wait = 4 * second;

    struct Joined {
        pmd::MulticastAddress group{};
        unsigned members = 0;
        FileDescriptor kernel{};  ///< its membership, where the interface is the kernel's
    };

    SharedPort(control::Loop& loop, rte_mempool* pool) : loop_(loop), pool_(pool) {}
    Result<void> open(const NodeOptions& options, const Open& open);
    Result<void> make_port(std::unique_ptr<pmd::NetDevice> device);
    Result<std::unique_ptr<pmd::NetDevice>> open_fabric(const NodeOptions& options);
    Result<std::unique_ptr<pmd::NetDevice>> open_ethernet(const NodeOptions& options, const Open& open);
    Result<void> serve_fabric();
    void take_fabric_mac();
    Result<void> watch_kernel();
    bool send(wire::Bytes frame);
    Result<void> take_kernel_identity(const pmd::EthernetSpec& port);
    void look();
    void adopt(std::vector<link::InterfaceAddress> addresses);
    void inject(node::PeerMember to, rte_mbuf* frame);
    std::optional<link::MemberId> holder(const node::RequestTarget& target) const;
    Result<void> join(Joined& joined);
    void leave(const wire::MacAddress& group);

    control::Loop& loop_;
    rte_mempool* pool_;
    hub::NodeIdentity identity_;
    unsigned ifindex_ = 0;  ///< of an interface whose addresses are the kernel's; else 0
    std::string interface_;
    std::optional<host::InterfaceWatch> watch_;
    std::optional<host::UdpGuard> guard_;
    std::unique_ptr<FabricSide> fabric_side_;  ///< null on Ethernet
    std::unique_ptr<node::GsiQueue> queue_;
    std::optional<node::XrcTargets> xrc_targets_;  ///< before the switch is gone, whose poll threads use it
    std::optional<NodeXrcHost> xrc_host_;
    std::vector<std::unique_ptr<pmd::NetDevice>> port_;  ///< until the switch has it: a WirePort for each queue
    node::WirePort* wire_ = nullptr;                     ///< of the first queue
    neighbour::NeighbourDevice* neighbours_ = nullptr;
    host::NextHops next_hops_;
    pmd::Switch* fabric_ = nullptr;
    hub::Server* server_ = nullptr;
    std::map<link::MemberId, node::MemberPort*> members_;
    std::map<link::MemberId, Time> left_;
    std::map<wire::MacAddress, Joined> groups_;
    std::unique_ptr<node::NodeGsi> gsi_;
    std::function<void()> changed_;
    std::function<void(const std::string&)> gone_;
    control::Watch kernel_news_;
};

}  // namespace verbline::cli
