// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// State shared by all endpoints of a connection manager: lookup tables, timers, counters, send path. Endpoints hold a
/// reference, so an endpoint may outlive its manager; it then sends nothing.

#include <atomic>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>

#include "control/cm/counters.h"
#include "control/cm/id_table.h"
#include "control/cm/listeners.h"
#include "control/cm/manager.h"
#include "control/cm/remote_table.h"
#include "control/cm/session.h"
#include "control/cm/shares.h"
#include "control/cm/timers.h"

namespace verbline::cm {

class Core final : public std::enable_shared_from_this<Core> {
public:
    Core(Manager::Options options, mad::GmpChannel& channel);

    Result<EndpointPointer> connect(const Request& request, Time now);
    Result<EndpointPointer> resolve(const ServiceRequest& request, Time now);
    Result<EndpointPointer> listen(wire::CmServiceId service, std::uint64_t mask, Time now);
    void receive(std::span<const mad::GmpArrival> burst, Time now);
    void tick(Time now);
    /// The manager is being destroyed: drops all sessions without sending anything.
    void close();

    // For sessions.

    /// Accepts a request from a listener's inbox. None: it is a retransmission, or it was rejected.
    std::optional<Event> accept(const Session::Received& received, Time now);
    /// Registers a remote queue pair for `id`. Returns `id`, or the id of the open connection that already has it.
    std::uint32_t claim(const RemoteEnd& queue_pair, std::uint32_t id);
    void retire(Session& session);
    Reference<Session> find(std::uint32_t id) const { return sessions_.find(id); }
    void send(const mad::GmpPeer& to, mad::MadBytes mad) {
        if (!closed_.load(std::memory_order_acquire)) channel_.send(to, mad);
    }
    void count(Count count, std::size_t hint) { counters_.add(count, hint); }
    void ready(Endpoint& endpoint) {
        if (options_.on_ready) options_.on_ready(endpoint);
    }
    Timers& timers() { return timers_; }
    RemoteTable& connections() { return connections_; }
    RemoteTable& queue_pairs() { return queue_pairs_; }
    RemoteTable& peers() { return peers_; }
    RemoteTable& datagram_requests() { return datagram_requests_; }
    Shares& half_open() { return half_open_; }
    Shares& closing() { return closing_; }

    const Counters& counters() const { return counters_; }
    const IdTable<Session>& sessions() const { return sessions_; }
    /// The latest `now` passed to any call.
    Time latest() const { return latest_.load(std::memory_order_relaxed); }
    void saw(Time now);

private:
    /// `make(id)` returns the state machine.
    template <class Make>
    Reference<Session> create(Make make) {
        return sessions_.insert(
            [&](std::uint32_t id) { return Reference<Session>::make(*this, id, Session::Machine(make(id))); });
    }
    EndpointPointer handle(const Reference<Session>& session);
    std::optional<Event> accept_connection(const Session::Received& received, Time now);
    std::optional<Event> accept_datagram(const Session::Received& received, Time now);
    std::optional<Rejection> objection(const wire::CmReq& req) const;
    std::optional<unsigned> gid_index(const wire::Gid& gid, const mad::GmpPeer& from) const;
    void refuse(const mad::GmpPeer& to, const Incoming& message, const Rejection& rejection, wire::CmAbout about);

    // core_receive.cc
    /// Lookup key of a message that names none of our ids; `table` is null if it names one.
    struct Sought {
        const RemoteTable* table = nullptr;
        RemoteEnd end;
    };
    Sought by_remote_end(const Incoming& message, const mad::GmpPeer& from) const;
    /// A parsed MAD and its lookup key.
    struct Looked {
        Looked(const Core& core, const mad::GmpArrival& arrival);
        std::expected<Incoming, Count> message;
        Sought sought;
    };
    Reference<Session> find(const Sought& sought) const { return sessions_.find(sought.table->find(sought.end)); }
    void receive_one(const mad::GmpArrival& arrival, const Looked& looked, Time now);
    void receive_req(const Incoming& message, const Sought& known, const mad::GmpPeer& from, Time now);
    void receive_sidr_req(const Incoming& message, const Sought& known, const mad::GmpPeer& from, Time now);
    void receive_version(const mad::GmpPeer& from, mad::MadBytes mad);
    void receive_unknown(const Incoming& message, const mad::GmpPeer& from);
    bool elsewhere(wire::CmServiceId service) const { return options_.elsewhere && options_.elsewhere(service); }
    template <class Message>
    void answer(const mad::GmpPeer& to, const Incoming& to_what, const Message& message);
    // core_burst.cc
    void prefetch(std::span<const std::optional<Looked>> burst) const;

    Manager::Options options_;
    mad::GmpChannel& channel_;
    std::atomic<bool> closed_ = false;
    std::atomic<Time> latest_ = 0;
    Counters counters_;
    Timers timers_;
    RemoteTable connections_, queue_pairs_, peers_, datagram_requests_;
    Shares half_open_, closing_;
    Listeners listeners_;
    IdTable<Session> sessions_;  ///< last: destructors of sessions use the members above
};

}  // namespace verbline::cm
