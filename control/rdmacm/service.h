// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// RDMA CM of one process: ids with addresses, routes, connections and groups; the functions of the rdma_cm device.
///
///     create ─> bind ─> resolve_address ─> resolve_route ─> connect ──────────> established ─> disconnect ─> destroy
///                 └──── listen ─> connect_request: a new id ─> accept | reject ─┘
///                 └──── resolve_address ─> join ─> multicast_join
///
/// Asynchronous calls return at once and complete with an event in the id's queue.
///
/// Threads: not thread-safe; the owner serializes (the device holds one lock for calls and for the control thread).
/// `now` is the caller's clock. Errors are those of the kernel's rdma_cm.
///
/// Virtual, because tests of the device's commands (tests/apps/libibverbs/ucma) take the service's place.

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

/// Result of rdma_init_qp_attr for a state: values, and which of them are valid (ibv_qp_attr_mask).
struct QueuePairAttributes {
    std::uint32_t mask = 0;
    transport::QueuePairState state{};
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

/// Addresses and route of an id, as far as known.
struct ResolvedRoute {
    const NetworkPort* port = nullptr;  ///< none: not bound to a device
    SocketAddress source, destination;
    std::vector<wire::PathRecord> paths;  ///< SA's, or made locally on RoCE
    wire::Gid source_gid{}, destination_gid{};
    wire::PKey pkey{0xffff};
    PortSpace space{};
};

class Service {
public:
    /// `ports`: in the order of devices; they must outlive the service. `seed`: of numbers that must not repeat.
    static std::unique_ptr<Service> create(std::vector<NetworkPort*> ports, std::uint64_t seed);
    virtual ~Service() = default;

    virtual IdNumber create_id(EventQueue& queue, std::uint64_t user, PortSpace space, QueuePairType type) = 0;
    /// Returns how many of its events have been reported to the user (take_event); pending ones are dropped.
    virtual Result<std::uint32_t> destroy_id(IdNumber id, Time now) = 0;
    virtual Result<void> bind(IdNumber id, const SocketAddress& address, Time now) = 0;
    virtual Result<void> resolve_address(IdNumber id, const std::optional<SocketAddress>& source,
                                         const SocketAddress& destination, Time timeout, Time now) = 0;
    virtual Result<void> resolve_route(IdNumber id, Time timeout, Time now) = 0;
    /// Sets paths that an AF_IB user has resolved itself (RDMA_OPTION_IB_PATH).
    virtual Result<void> set_paths(IdNumber id, std::vector<wire::PathRecord> paths, Time now) = 0;
    virtual Result<void> listen(IdNumber id, int backlog, Time now) = 0;
    virtual Result<void> connect(IdNumber id, const ConnectParameters& parameters, Time now) = 0;
    /// `user`: context of the id's later events. No parameters: sends RTU for an active side whose queue pair is not
    /// ours.
    virtual Result<void> accept(IdNumber id, std::uint64_t user, const std::optional<ConnectParameters>& parameters,
                                Time now) = 0;
    virtual Result<void> reject(IdNumber id, const cm::PrivateData& data, wire::CmRejectReason reason, Time now) = 0;
    virtual Result<void> disconnect(IdNumber id, Time now) = 0;
    /// IBV_EVENT_COMM_EST.
    virtual Result<void> notify_established(IdNumber id, Time now) = 0;
    virtual Result<QueuePairAttributes> init_queue_pair(IdNumber id, transport::QueuePairState state) = 0;
    virtual Result<GroupNumber> join(IdNumber id, std::uint64_t user, const SocketAddress& group, bool send_only,
                                     Time now) = 0;
    virtual Result<std::uint32_t> leave(GroupNumber group, Time now) = 0;

    enum class Option : std::uint8_t { type_of_service, reuse_address, address_family_only, ack_timeout };
    virtual Result<void> set_option(IdNumber id, Option option, std::uint8_t value) = 0;
    virtual Result<ResolvedRoute> route(IdNumber id) const = 0;

    /// Moves the id's events, pending ones included, to another queue. Returns how many have been reported to the
    /// user.
    virtual Result<std::uint32_t> migrate(IdNumber id, EventQueue& queue) = 0;
    /// Takes the oldest event of a queue; none: empty.
    virtual std::optional<CmEvent> take_event(EventQueue& queue) = 0;
    /// Destroys the queue's ids and drops its events.
    virtual void close(EventQueue& queue, Time now) = 0;

    // Called for the ports.

    /// An endpoint of a port's connection manager has something to poll. The endpoint may have been destroyed: only its
    /// address is used until it is found in the table.
    virtual void ready(cm::Endpoint& endpoint, Time now) = 0;
    virtual void tick(Time now) = 0;
    virtual std::optional<Time> deadline() const = 0;
    /// cm::Manager::Options::bound, of that port's manager.
    virtual bool bound(const NetworkPort& port, wire::CmServiceId service) const = 0;
    /// The port's addresses have changed (address_change), or the port was removed (device_removal), or it has
    /// returned after that: then as not removed.
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
