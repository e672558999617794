// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// An open link below an RDMA device, of a program under `verbline run` or of `verbline bench rdma`: network device,
/// addresses and neighbour resolution.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "apps/libibverbs/settings/settings.h"
#include "control/hub/client.h"
#include "control/mad/port_facts.h"
#include "datapath/neighbour/device.h"
#include "pmd/base/time.h"
#include "pmd/capture/capture_file.h"
#include "pmd/direct/direct_links.h"
#include "pmd/memif/memif.h"
#include "pmd/netdev.h"

struct rte_mempool;

namespace verbline::host {
class UdpGuard;
}

namespace verbline::verbs {

struct OpenedLink {
    std::string text;  ///< as the user wrote it
    std::unique_ptr<pmd::CaptureFile> capture;
    std::unique_ptr<pmd::NetDevice> device;            ///< up; with impairment, capture and neighbours as set
    neighbour::NeighbourDevice* neighbours = nullptr;  ///< in `device`; null: the kernel resolves, or LIDs are used
    pmd::DirectLinks* direct = nullptr;                ///< in `device`: direct links of a hub's lane; null: none
    wire::MacAddress mac{};
    std::vector<InterfaceAddress> addresses;
    unsigned ifindex = 1;               ///< of the kernel's interface; if there is none, of the loopback interface
    std::string interface;              ///< its name; empty: none
    bool peer_comes_and_goes = false;   ///< memif pair: the port is active even without a peer
    bool held_back = false;             ///< impaired: the link may delay packets
    hub::Lane lane;                     ///< of a hub or a node; the lane ends with it
    pmd::Memif* lane_device = nullptr;  ///< in `device`: the lane's
    /// Joins again, as the lane that it was, once the hub has been restarted. Blocks as hub::join. On a soft fabric the
    /// lane has the MAC address that `before` has, which follows from the LID.
    std::function<Result<hub::Lane>(const hub::Lane& before)> rejoin;
    std::shared_ptr<host::UdpGuard> guard;          ///< of a kernel that knows nothing of RoCE
    mad::PortFacts fabric;                          ///< soft fabric: LIDs, P_Keys, as the link was opened
    InfinibandLink fabric_link;                     ///< soft fabric: where it is; empty of a node
    std::vector<InterfaceAddress> ipoib_addresses;  ///< soft fabric: those that an IPoIB interface would have
    std::optional<sa::Group> broadcast;             ///< of a node on a soft fabric: IPoIB's group, if it was known then
    std::uint32_t reregistrations = 0;              ///< of the same: as hub::SubnetPort had them then

    bool infiniband() const { return fabric.lid != wire::Lid{}; }
    /// True on a kernel interface: other programs may have the same addresses and receive the same packets.
    bool shared() const { return !interface.empty(); }
};

/// The device that the link is for.
struct PortIdentity {
    std::string name;          ///< verbline0 and the like
    std::string instance;      ///< unique in the process, and short
    wire::MacAddress own_mac;  ///< for links that have none
    unsigned index = 0;        ///< the N of uverbsN
    bool first = true;         ///< the settings' addresses are for this device
};

/// What the device's owner brings.
struct LinkOwner {
    rte_mempool* pool = nullptr;
    std::function<Time()> clock;  ///< read for every burst, by any thread
};

/// Blocks until the link has its addresses: a hub has answered, the fabric's port is active.
Result<OpenedLink> open_link(const Link& link, const Settings& settings, const PortIdentity& identity,
                             const LinkOwner& owner);

}  // namespace verbline::verbs
