// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Implementation of Service. One class, since all calls work on ids; one file per concern:
///
///     service_ids.cc        create, destroy, queues, options         service_listen.cc    incoming requests
///     service_address.cc    bind, resolve_address                    service_connect.cc   connect, accept, reject ...
///     service_route.cc      resolve_route                            service_answers.cc   messages of the peer
///     service_multicast.cc  groups                                   service_ports.cc     what ports report, timers

#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "control/rdmacm/counters.h"
#include "control/rdmacm/id.h"
#include "control/rdmacm/id_table.h"
#include "control/rdmacm/incoming_request.h"
#include "control/rdmacm/port_bindings.h"
#include "control/rdmacm/service.h"
#include "control/rdmacm/source.h"

namespace verbline::rdmacm {

class ServiceCore final : public Service {
public:
    ServiceCore(std::vector<NetworkPort*> ports, std::uint64_t seed) : ports_(std::move(ports)), random_(seed) {}
    ~ServiceCore() override;

    IdNumber create_id(EventQueue& queue, std::uint64_t user, PortSpace space, QueuePairType type) override;
    Result<std::uint32_t> destroy_id(IdNumber number, Time now) override;
    Result<void> bind(IdNumber number, const SocketAddress& address, Time now) override;
    Result<void> resolve_address(IdNumber number, const std::optional<SocketAddress>& source,
                                 const SocketAddress& destination, Time timeout, Time now) override;
    Result<void> resolve_route(IdNumber number, Time timeout, Time now) override;
    Result<void> set_paths(IdNumber number, std::vector<wire::PathRecord> paths, Time now) override;
    Result<void> listen(IdNumber number, int backlog, Time now) override;
    Result<void> connect(IdNumber number, const ConnectParameters& parameters, Time now) override;
    Result<void> accept(IdNumber number, std::uint64_t user, const std::optional<ConnectParameters>& parameters,
                        Time now) override;
    Result<void> reject(IdNumber number, const cm::PrivateData& data, wire::CmRejectReason reason, Time now) override;
    Result<void> disconnect(IdNumber number, Time now) override;
    Result<void> notify_established(IdNumber number, Time now) override;
    Result<QueuePairAttributes> init_queue_pair(IdNumber number, transport::QueuePairState state) override;
    Result<GroupNumber> join(IdNumber number, std::uint64_t user, const SocketAddress& group, bool send_only,
                             Time now) override;
    Result<std::uint32_t> leave(GroupNumber number, Time now) override;
    Result<void> set_option(IdNumber number, Option option, std::uint8_t value) override;
    Result<ResolvedRoute> route(IdNumber number) const override;
    Result<std::uint32_t> migrate(IdNumber number, EventQueue& queue) override;
    std::optional<CmEvent> take_event(EventQueue& queue) override;
    void close(EventQueue& queue, Time now) override;
    void ready(cm::Endpoint& endpoint, Time now) override;
    void tick(Time now) override;
    std::optional<Time> deadline() const override { return ids_.deadline(); }
    bool bound(const NetworkPort& port, wire::CmServiceId service) const override;
    void port_changed(const NetworkPort& port, bool removed, Time now) override;
    std::vector<Shown> show() const override;
    void counters(const CounterVisitor& visit) const override { counters_.each(visit); }

private:
    /// Listeners of one service id on one port share an endpoint there.
    using ListenerKey = std::pair<NetworkPort*, wire::CmServiceId>;
    struct Listener {
        cm::EndpointPointer endpoint;
        unsigned users = 0;
    };
    struct Group {
        IdNumber id{};
        std::uint64_t user = 0;
        NetworkPort::Ticket ticket = 0;
        NetworkPort* port = nullptr;
        GroupRequest request;
        bool in = false;                    ///< the port has joined for `ticket`
        std::optional<JoinedGroup> joined;  ///< as last reported to the user
        std::uint32_t reported = 0;         ///< events
    };

    Result<Id*> find(IdNumber number);
    void become(Id& id, IdState state, Time now);
    std::span<NetworkPort* const> ports_of(const Id& id) const;

    // Events.
    void emit(Id& id, CmEvent event);
    void emit(Id& id, EventKind kind, int status = 0);
    std::vector<IdNumber> drop_unseen(Id& id);
    void destroy(Id& id, Time now);

    // Addresses and routes.
    Result<void> bind_source(Id& id, const SocketAddress& address, Time now);
    Result<void> adopt(Id& id, const Source& source, const SocketAddress& asked);
    NetworkPort::Ticket ask(Id& id, Time timeout, Time now);
    Id* answered(IdNumber number, NetworkPort::Ticket ticket);
    void find_neighbour(Id& id, Time timeout, Time now);
    void address_resolved(Id& id, const Result<NetworkPort::Neighbour>& neighbour);
    void address_failed(Id& id, const Error& error);
    void route_resolved(Id& id, std::vector<wire::PathRecord> paths);
    void route_failed(Id& id, const Error& error);
    void timed_out(Id& id);

    // Listeners.
    Result<void> listen_on(Id& id, NetworkPort& port, Time now);
    void stop_listening(Id& id);
    void stop_listening(Id& id, NetworkPort& port);
    void drain_listener(const ListenerKey& key, cm::Endpoint& endpoint, Time now);
    void requested(IncomingRequest request, Time now);
    void admit(Id& listener, IncomingRequest request, Time now);
    void admit_waiting(Id& listener, Time now);
    Id* listener_of(const IncomingRequest& request) const;
    Id& child_of(Id& listener, const IncomingRequest& request, Time now);

    // Connections.
    Result<cm::EndpointPointer> request_connection(Id& id, const ConnectParameters& parameters, Time now);
    Result<cm::EndpointPointer> request_service(Id& id, const ConnectParameters& parameters, Time now);
    Result<void> accept_connection(Id& id, const ConnectParameters& parameters, Time now);
    Result<void> accept_datagram(Id& id, const ConnectParameters& parameters, Time now);
    void drain(Id& id, Time now);
    struct Answers;  ///< one call for each thing a peer may do: service_answers.cc
    friend struct Answers;

    // Q_Keys and groups.
    Result<wire::QKey> default_qkey(Id& id);
    bool use_qkey(Id& id, wire::QKey qkey);
    void ask_group(GroupNumber number, Group& group);
    void group_answered(GroupNumber number, NetworkPort::Ticket ticket, const Result<JoinedGroup>& answer);
    void group_failed(GroupNumber number, Group& group, int code);
    void leave_port(const Group& group);
    void rejoin(const NetworkPort& port);

    void remove_port(const NetworkPort& port, Time now);
    void return_port(const NetworkPort& port, Time now);

    std::vector<NetworkPort*> ports_, removed_;
    std::mt19937_64 random_;
    IdTable ids_;
    PortBindings bindings_;
    std::map<ListenerKey, Listener> listeners_;
    std::unordered_map<const cm::Endpoint*, ListenerKey> listener_keys_;
    std::unordered_map<GroupNumber, Group> groups_;
    std::uint32_t last_group_ = 0;
    NetworkPort::Ticket last_ticket_ = 0;
    Time now_ = 0;  ///< last `now` passed; used by ports' answers and take_event, which pass none
    RdmaCmCounters counters_;
};

}  // namespace verbline::rdmacm
