// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// RDMA CM of one process: ids with addresses, routes, connections and groups; what the rdma_cm device does.
///
///     create ─> bind ─> resolve_address ─> resolve_route ─> connect ──────────> established ─> disconnect ─> destroy
///                 └──── listen ─> connect_request: a new id ─> accept | reject ─┘
///                 └──── resolve_address ─> join ─> multicast_join
///
/// Calls that take time return at once and end with an event in the id's queue.
///
/// Threads: one at a time; whoever owns the service serializes (the device takes one lock for it and for the control
/// thread). `now` is the caller's clock. Errors are those of the kernel's rdma_cm.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "control/cm/manager.h"
#include "control/rdmacm/address.h"
#include "control/rdmacm/event.h"
#include "control/rdmacm/network.h"
#include "datapath/transport/queue_pair.h"
#include "datapath/wire/path_record.h"
#include "pmd/base/counter.h"
#include "pmd/base/error.h"
#include "pmd/base/time.h"

namespace verbline::rdmacm {

/// ibv_qp_type of an id.
enum class QueuePairType : std::uint8_t { rc = 2, uc = 3, ud = 4, xrc_initiator = 9, xrc_target = 10 };

/// What rdma_init_qp_attr gives for a state: values and which of them count (ibv_qp_attr_mask).
struct QueuePairAttributes {
    std::uint32_t mask = 0;
    transport::State state{};
    std::uint16_t pkey_index = 0;
    std::uint32_t access_flags = 0;  ///< ibv_access_flags
    wire::QKey qkey{};
    std::uint8_t mtu = 0;  ///< coded
    wire::Qpn destination{};
    wire::Psn receive_psn, send_psn;
    rdma::Path path{};
    std::uint8_t max_destination_reads = 0, max_reads = 0;
    std::uint8_t min_rnr_timer = 0, timeout = 0, retry_count = 0, rnr_retry = 0;
};

/// What is known of an id's addresses and route.
struct Route {
    const NetworkPort* port = nullptr;  ///< none: not bound to a device
    SocketAddress source, destination;
    std::vector<wire::PathRecord> paths;  ///< SA's, or made locally on RoCE
    wire::Gid source_gid{}, destination_gid{};
    wire::PKey pkey{0xffff};
    PortSpace space{};
};

class Service {
public:
    /// Ports are known in the order of devices; they outlive the service. `seed` is for numbers that must not repeat.
    static std::unique_ptr<Service> create(std::vector<NetworkPort*> ports, std::uint64_t seed);
    virtual ~Service() = default;

    virtual IdNumber create_id(EventQueue& queue, std::uint64_t user, PortSpace space, QueuePairType type) = 0;
    /// How many events of it the user has been told (taken out by take_event). Those that were not are dropped.
    virtual Result<std::uint32_t> destroy_id(IdNumber id, Time now) = 0;
    virtual Result<void> bind(IdNumber id, const SocketAddress& address, Time now) = 0;
    virtual Result<void> resolve_address(IdNumber id, const std::optional<SocketAddress>& source,
                                         const SocketAddress& destination, Time timeout, Time now) = 0;
    virtual Result<void> resolve_route(IdNumber id, Time timeout, Time now) = 0;
    /// Of AF_IB users who found paths themselves (RDMA_OPTION_IB_PATH).
    virtual Result<void> set_paths(IdNumber id, std::vector<wire::PathRecord> paths, Time now) = 0;
    virtual Result<void> listen(IdNumber id, int backlog, Time now) = 0;
    virtual Result<void> connect(IdNumber id, const ConnectParameters& parameters, Time now) = 0;
    /// `user`: what events of the id carry from now on. No parameters: RTU of an active side without a queue pair here.
    virtual Result<void> accept(IdNumber id, std::uint64_t user, const std::optional<ConnectParameters>& parameters,
                                Time now) = 0;
    virtual Result<void> reject(IdNumber id, const cm::PrivateData& data, wire::CmRejectReason reason, Time now) = 0;
    virtual Result<void> disconnect(IdNumber id, Time now) = 0;
    /// IBV_EVENT_COMM_EST.
    virtual Result<void> notify_established(IdNumber id, Time now) = 0;
    virtual Result<QueuePairAttributes> init_queue_pair(IdNumber id, transport::State state) = 0;
    virtual Result<GroupNumber> join(IdNumber id, std::uint64_t user, const SocketAddress& group, bool send_only,
                                     Time now) = 0;
    virtual Result<std::uint32_t> leave(GroupNumber group, Time now) = 0;

    enum class Option : std::uint8_t { type_of_service, reuse_address, address_family_only, ack_timeout };
    virtual Result<void> set_option(IdNumber id, Option option, std::uint8_t value) = 0;
    virtual Result<Route> route(IdNumber id) const = 0;

    /// The id's events, those that wait included, go to another queue from now on. How many the user has been told.
    virtual Result<std::uint32_t> migrate(IdNumber id, EventQueue& queue) = 0;
    /// The oldest event of a queue; counted as told.
    virtual std::optional<Event> take_event(EventQueue& queue) = 0;
    /// The queue goes away: so do all its ids.
    virtual void close(EventQueue& queue, Time now) = 0;

    // The ports'.

    /// An endpoint of a port's connection manager has something to poll. It may be gone already: only its address is
    /// looked at before it is found to be ours.
    virtual void ready(cm::Endpoint& endpoint, Time now) = 0;
    virtual void tick(Time now) = 0;
    virtual std::optional<Time> deadline() const = 0;
    /// The port's addresses have changed (address_change), or the port is gone (device_removal).
    virtual void port_changed(const NetworkPort& port, bool removed, Time now) = 0;

    struct Shown {
        IdNumber id{};
        PortSpace space{};
        const char* state = "";
        SocketAddress source, destination;
        cm::CommunicationId local{};
        Time since = 0;
    };
    virtual std::vector<Shown> show() const = 0;
    virtual void counters(const CounterVisitor& visit) const = 0;
};

}  // namespace verbline::rdmacm
