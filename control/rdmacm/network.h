// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Interface to the ports that RDMA CM runs on: addresses, neighbours, paths, multicast groups, and port numbers shared
/// with other processes. Implemented by the verbs library over its ports, and by tests over a simulation.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "control/cm/manager.h"
#include "control/rdmacm/address.h"
#include "control/rdmacm/port_use.h"
#include "datapath/link/gid_table.h"
#include "datapath/link/interface_address.h"
#include "datapath/wire/path_record.h"
#include "datapath/wire/types.h"
#include "pmd/base/error.h"

namespace verbline::rdmacm {

/// A multicast group that the port has joined.
struct JoinedGroup {
    wire::Gid mgid{};
    wire::Lid mlid{};  ///< InfiniBand
    wire::MacAddress mac{};
    wire::QKey qkey{};
    std::uint8_t sl = 0, hop_limit = 1, traffic_class = 0, mtu = 0, rate = 0;
    std::uint32_t flow_label = 0;
    wire::PKey pkey{0xffff};
};

/// Parameters of a join. What is not given is taken from the broadcast group (RFC 4391, 5).
struct GroupRequest {
    wire::Gid mgid{};
    bool send_only = false;
    std::optional<wire::QKey> qkey{};  ///< none: the broadcast group's
    wire::PKey pkey{0xffff};           ///< InfiniBand; of a full member
};

class NetworkPort {
public:
    struct Facts {
        std::string name;           ///< verbline0
        unsigned device_index = 0;  ///< as ibv_get_device_index returns it
        wire::Guid guid{};          ///< node GUID
        link::GidTable::Kind kind{};
        std::vector<link::InterfaceAddress> addresses{};  ///< of the interface (RoCE) or of IPoIB (InfiniBand)
        unsigned ifindex = 0;
        wire::Gid port_gid{};  ///< InfiniBand; RoCE: the link-local one
        wire::Lid lid{};
        wire::PKey pkey{0xffff};                            ///< of the default partition
        std::vector<wire::PKey> pkeys{wire::PKey{0xffff}};  ///< the P_Key table
        std::uint8_t mtu = 3;                               ///< coded; the largest of the port
        std::uint8_t rate = 3;                              ///< coded
        wire::Gid broadcast_group{};                        ///< IPoIB's in the default partition
        wire::QKey broadcast_qkey{};                        ///< 0: not known yet
        bool active = false;
    };

    NetworkPort() = default;
    NetworkPort(const NetworkPort&) = delete;
    NetworkPort& operator=(const NetworkPort&) = delete;
    virtual ~NetworkPort() = default;

    virtual Facts facts() const = 0;
    virtual cm::Manager& manager() = 0;
    /// GID index of a local GID of this type; none: not in the GID table.
    virtual std::optional<unsigned> gid_index(const wire::Gid& gid, link::GidType type) const = 0;

    /// Resolved neighbour: on RoCE the next hop's MAC, on IPoIB the GID of an IP address.
    struct Neighbour {
        wire::MacAddress mac{};
        wire::Gid gid{};
    };
    // A handler is called at most once, with the service's lock held: before the call returns, or later on the control
    // thread. `cancel` with the same ticket withdraws the request; it may also be called after the answer.
    using Ticket = std::uint64_t;
    using NeighbourHandler = std::function<void(Result<Neighbour>)>;
    using PathHandler = std::function<void(Result<wire::PathRecord>)>;
    using GroupHandler = std::function<void(Result<JoinedGroup>)>;

    virtual void find_neighbour(Ticket ticket, const wire::Gid& from, const wire::Gid& to,
                                NeighbourHandler handler) = 0;
    virtual void find_path(Ticket ticket, const wire::Gid& to, wire::PKey pkey,
                           PathHandler handler) = 0;  ///< InfiniBand
    virtual void join(Ticket ticket, const GroupRequest& request, GroupHandler handler) = 0;
    virtual void leave(Ticket ticket, const wire::Gid& mgid) = 0;  ///< the join's ticket
    virtual void cancel(Ticket ticket) = 0;

    /// Reserves a port number for a use that conflicts with none of another process of this host; 0: an ephemeral one,
    /// which nobody uses. EADDRINUSE.
    virtual Result<std::uint16_t> reserve(PortSpace space, std::uint16_t number, const PortUse& use) = 0;
    /// Changes a use of a reserved number, to listen for one. On failure it stays as it was. EADDRINUSE.
    virtual Result<void> rebind(PortSpace space, std::uint16_t number, const PortUse& from, const PortUse& to) = 0;
    virtual void release(PortSpace space, std::uint16_t number, const PortUse& use) = 0;
};

}  // namespace verbline::rdmacm
