// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A link as the program's device needs it: opened, with its addresses, and with somebody who knows the neighbours'.

#include <memory>
#include <string>
#include <vector>

#include "apps/libibverbs/settings/settings.h"
#include "control/hub/client.h"
#include "control/mad/port_facts.h"
#include "datapath/neighbour/device.h"
#include "pmd/capture/capture_file.h"
#include "pmd/direct/direct_links.h"
#include "pmd/netdev.h"

struct rte_mempool;

namespace verbline::host {
class UdpGuard;
}

namespace verbline::verbs {

struct OpenedLink {
    std::string text;  ///< as the user wrote it
    std::unique_ptr<pmd::CaptureFile> capture;
    std::unique_ptr<pmd::NetDevice> device;            ///< up; impaired, captured, with neighbours, as it should be
    neighbour::NeighbourDevice* neighbours = nullptr;  ///< in `device`; none: the kernel knows them, or there are LIDs
    pmd::DirectLinks* direct = nullptr;  ///< in `device`: a lane with links to other programs of its hub; or none
    wire::MacAddress mac{};
    std::vector<InterfaceAddress> addresses;
    unsigned ifindex = 1;                   ///< of the kernel's interface; without one, the loopback interface's
    std::string interface;                  ///< its name; empty: none
    bool peer_comes_and_goes = false;       ///< the other end of a memif pair: programs find the port active without it
    bool held_back = false;                 ///< impaired: packets may be kept for later
    hub::Lane lane;                         ///< of a hub; the lane ends with it
    std::shared_ptr<host::UdpGuard> guard;  ///< of a kernel that knows nothing of RoCE
    mad::PortFacts fabric;                  ///< soft fabric: LIDs, P_Keys
    InfinibandLink fabric_link;             ///< soft fabric: where it is
    std::vector<InterfaceAddress> ipoib_addresses;  ///< soft fabric: those that an IPoIB interface would have

    /// Other programs may have the same addresses and get the same packets: those of the kernel's interface.
    bool shared() const { return !interface.empty(); }
};

struct PortIdentity;

/// Blocks until the link has its addresses: a hub's answer, the fabric's port being active.
Result<OpenedLink> open_link(const Link& link, const Settings& settings, const PortIdentity& identity,
                             rte_mempool* pool);

}  // namespace verbline::verbs
