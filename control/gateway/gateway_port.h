// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// One configured port of a running gateway, from its device to its link. Members are created in the order of their
/// declaration and destroyed in the reverse order.

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/gateway/announcements.h"
#include "control/gateway/bond.h"
#include "control/gateway/changes.h"
#include "control/gateway/config.h"
#include "control/gateway/decorated_device.h"
#include "control/gateway/failover.h"
#include "control/gateway/fault.h"
#include "control/gateway/link_devices.h"
#include "control/gateway/subnet.h"
#include "control/loop/loop.h"
#include "control/router/ethernet_port.h"
#include "control/router/ipoib_port.h"
#include "control/router/roce_ipoib_port.h"
#include "control/router/shard_links.h"
#include "datapath/router/port.h"
#include "pmd/active_backup/active_backup.h"
#include "pmd/capture/capture_file.h"
#include "pmd/factory/open_device.h"
#include "pmd/netdev.h"

namespace verbline::pmd {
class Tun;
}

namespace verbline::gateway {

class GatewayPort {
public:
    GatewayPort(const GatewayConfig& config, const PortConfig& port, forward::InterfaceId id)
        : config_(config), port_config_(port), id_(id) {}
    GatewayPort(const GatewayPort&) = delete;
    GatewayPort& operator=(const GatewayPort&) = delete;
    ~GatewayPort();

    // Call in this order.

    /// Reaches the subnet manager, unless `parent`, another port of the same `sm`, has, and checks the port against the
    /// configuration, before anything is started.
    Outcome open_subnet(control::Loop& loop, const GatewayPort* parent);
    /// What the devices of all ports have in common; outlives this object.
    struct DeviceSetup {
        const pmd::PacketPools& pools;        ///< by shard
        const std::vector<int>& sockets;      ///< by shard: NUMA
        pmd::CaptureFile* capture = nullptr;  ///< records all packets; may be null
        std::uint16_t queues = 1;             ///< that each must have: one for each shard
        const pmd::FlowHash& flows;           ///< spreads the packets of those that have another number
        LinkDevices& links;
    };
    /// Opens device and kernel-visible interface.
    Outcome open_devices(const DeviceSetup& setup);
    router::PortSetup shard_setup() const;
    /// `forwards`: of a gateway, not a host.
    void start(control::Loop& loop, router::ShardLinks& shards, rte_mempool& pool,
               const host::Ipv6Gateways& ipv6_gateways, bool forwards);

    /// The configuration says something else of this than before.
    void change(Setting setting, router::ShardLinks& shards);
    /// Records in this file from now on, and in the one before no more; null: in none.
    void capture(std::unique_ptr<pmd::CaptureFile> file, router::ShardLinks& shards);
    /// Call before the shards stop: sends hosts a last router advertisement, of lifetime 0, if the port advertises.
    void retire();
    /// Takes the port down and begins to leave its groups. The loop has to run until `left`.
    void leave();
    bool left() const { return !subnet_ || subnet_->left(); }

    /// Upkeep of the device's link, its decorators and the port's own capture file: call a few times a second. True:
    /// the interface in the kernel has another carrier now.
    bool upkeep(router::ShardLinks& shards);

    const PortConfig& config() const { return port_config_; }
    const Subnet* subnet() const { return subnet_.get(); }
    /// Of the ports that share the subnet, the one that reached it.
    bool first_of_subnet() const { return subnet_ && first_of_subnet_; }
    const std::string& name() const { return port_config_.name; }
    forward::InterfaceId id() const { return id_; }
    bool up() const { return port_->up(); }
    /// As it is decorated now.
    pmd::NetDevice& device() const { return decorated_->decorated(); }
    pmd::NetDevice& kernel() const { return *kernel_; }
    router::ControlPort& port() const { return *port_; }
    router::IpoibPort* ipoib() const { return ipoib_; }
    /// Which of port and backup, or which member of its bond is used, as people name it; empty: there is neither.
    std::string_view active() const;
    router::EthernetPort* ethernet() const { return ethernet_; }
    router::RoceIpoibPort* roce() const { return roce_; }

private:
    Outcome check_subnet() const;
    pmd::OpenOptions open_options(const DeviceSetup& setup) const;
    Outcome open_link_device(const DeviceSetup& setup);
    using Device = std::expected<std::unique_ptr<pmd::NetDevice>, Fault>;
    Device open_one(const DeviceSetup& setup, const std::vector<std::string>& texts, unsigned line) const;
    Outcome add_backup(const DeviceSetup& setup);
    Outcome open_kernel_interface(const DeviceSetup& setup);
    Outcome check_room() const;
    Outcome open_connections(const DeviceSetup& setup);
    Outcome decorate(pmd::CaptureFile* capture);
    DecoratedDevice::Shards decorated_for(router::ShardLinks& shards) const { return {shards, id_}; }
    void impair(router::ShardLinks& shards);
    void follow_bond();
    std::unexpected<Fault> misfit(unsigned line, std::string reason) const;

    const GatewayConfig& config_;
    const PortConfig& port_config_;
    forward::InterfaceId id_;
    std::shared_ptr<Subnet> subnet_;  ///< null: of an Ethernet link
    bool first_of_subnet_ = true;
    std::unique_ptr<pmd::NetDevice> device_;  ///< until it is in `decorated_`
    std::optional<DecoratedDevice> decorated_;
    pmd::ActiveBackup* pair_ = nullptr;                ///< the device, of a port with a backup
    std::unique_ptr<ipoib::Connections> connections_;  ///< null: not in connected mode
    std::unique_ptr<pmd::NetDevice> kernel_;
    pmd::Tun* interface_ = nullptr;  ///< at the bottom of `kernel_`
    bool shown_carrier_ = true;      ///< the kernel's interface has a carrier, as the link had at the last upkeep
    std::unique_ptr<router::ControlPort> port_;
    std::optional<Failover> failover_;            ///< of a port with a backup
    std::optional<Bond> bond_;                    ///< the device, if it is one
    std::string member_;                          ///< of the bond, which was used at the last upkeep
    std::optional<Announcements> announcements_;  ///< of a bond
    router::IpoibPort* ipoib_ = nullptr;          ///< `port_`, if it is one
    router::EthernetPort* ethernet_ = nullptr;    ///< likewise
    router::RoceIpoibPort* roce_ = nullptr;       ///< likewise
};

}  // namespace verbline::gateway
