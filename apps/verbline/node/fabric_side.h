// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A node's port on a soft fabric: its lane of the fabric's hub, its attachment to the simulator, and its subnet.
///
///     SharedPort ──> FabricSide ──┬── take_device: the lane ──> the switch's uplink
///                                 ├── IbsimTransport ─────────> OpenSM
///                                 └── node::SubnetService ────> what members ask (hub::SubnetHost)
///
/// A LID that the subnet manager changes is followed: the lane is given up, and joined anew with the MAC address of the
/// new LID, and with all groups. While that is another port's still, it is tried again.
///
/// Control thread.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/libibverbs/settings/settings.h"
#include "control/hub/client.h"
#include "control/loop/loop.h"
#include "control/mad/transport.h"
#include "control/node/subnet_service.h"
#include "pmd/memif/memif.h"
#include "pmd/netdev.h"

struct rte_mempool;

namespace verbline::cli {

class FabricSide {
public:
    /// Waits until the subnet manager has brought the port up, and starts the fabric's hub if it does not run; some
    /// seconds at most. `addresses`: those of IPoIB; none: the hub gives them.
    static Result<std::unique_ptr<FabricSide>> open(const verbs::InfinibandLink& place,
                                                    const std::vector<link::InterfaceAddress>& addresses,
                                                    control::Loop& loop, rte_mempool* pool);
    FabricSide(const FabricSide&) = delete;
    FabricSide& operator=(const FabricSide&) = delete;
    ~FabricSide();

    /// That follows from the port's LID, as last known.
    wire::MacAddress mac() const { return mac_; }
    const std::vector<link::InterfaceAddress>& addresses() const { return lane_.addresses; }
    /// Once.
    std::unique_ptr<pmd::NetDevice> take_device() { return std::move(device_); }

    struct Callbacks {
        std::function<bool(wire::Bytes frame)> send;  ///< false: there is no buffer for it
        std::function<void(hub::LaneId member, const hub::Message& what)> tell;
        std::function<void()> changed;
        std::function<void()> moved;                       ///< `mac` has changed; called before `changed`
        std::function<void(const std::string& why)> gone;  ///< the port is of no use any more
    };
    /// Before members come. Joins IPoIB's broadcast group.
    Result<void> serve(Callbacks callbacks);
    bool serving() const { return subnet_ != nullptr; }
    node::SubnetService& subnet() { return *subnet_; }

    /// On the link, whose hub passes groups to their members only.
    Result<void> join(const pmd::MulticastAddress& group);
    void leave(const pmd::MulticastAddress& group);

private:
    struct Joined {
        pmd::MulticastAddress group;
        unsigned users = 0;  ///< several MGIDs may share an address
    };

    FabricSide(verbs::InfinibandLink place, control::Loop& loop) : place_(std::move(place)), loop_(loop) {}
    Result<void> watch_lane();
    void follow_lid();
    void move_until(Time limit);
    Result<void> move();
    Result<void> rejoin_groups() const;
    Result<void> join_own(const wire::Gid& mgid, wire::Lid mlid);

    const verbs::InfinibandLink place_;
    control::Loop& loop_;
    std::unique_ptr<mad::Transport> transport_;
    hub::Lane lane_;
    wire::MacAddress mac_{};
    std::unique_ptr<pmd::Memif> device_;  ///< until the switch has it
    pmd::Memif* memif_ = nullptr;         ///< the same, also then
    Callbacks callbacks_;
    std::map<wire::Gid, pmd::MulticastAddress> own_groups_;
    std::map<wire::MacAddress, Joined> joined_;
    control::Watch lane_watch_;
    control::Timer move_timer_;
    std::unique_ptr<node::SubnetService> subnet_;
};

}  // namespace verbline::cli
