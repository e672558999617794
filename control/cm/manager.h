// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The connection manager of one port: endpoints and how MADs find them.
///
///     MADs ─> Manager::receive ──> by local id | by (remote id, GID) | by service id ──> endpoint's inbox ──> ready
///
/// Thread-safe. A lookup takes the lock of one partition of one table; there is no global lock.
///
///     manager.cc           the user's calls, timers, end     manager_receive.cc   MADs, by bursts
///     manager_accept.cc    requests that a listener polls

#include <atomic>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "control/cm/communication_id_table.h"
#include "control/cm/counters.h"
#include "control/cm/early_requests.h"
#include "control/cm/endpoint.h"
#include "control/cm/listeners.h"
#include "control/cm/peer_limits.h"
#include "control/cm/remote_table.h"
#include "control/cm/session.h"
#include "control/cm/shares.h"
#include "control/cm/timers.h"
#include "control/mad/gmp.h"
#include "pmd/base/counter.h"
#include "pmd/base/error.h"
#include "pmd/base/time.h"

namespace verbline::cm {

class Manager final : public std::enable_shared_from_this<Manager> {
public:
    /// Closes the manager when its owner drops it. Endpoints keep its memory, so they may outlive it; they then send
    /// nothing.
    class Close {
    public:
        Close() = default;
        explicit Close(std::shared_ptr<Manager> manager) : manager_(std::move(manager)) {}
        void operator()(Manager* manager);

    private:
        std::shared_ptr<Manager> manager_;
    };
    using Pointer = std::unique_ptr<Manager, Close>;

    struct Options {
        wire::Guid ca_guid{};
        std::uint64_t seed = 1;  ///< of communication, request and transaction ids; random, except in tests
        IdRange ids{};           ///< of communication and request ids, where others share the port
        /// The endpoint has something to poll. Called once, then not again until `poll` has returned none. Called from
        /// `receive`, `tick` or a user's call on another endpoint; must not block or call back.
        std::function<void(Endpoint&)> on_ready;
        /// Returns the GID index of a local GID, or none if the GID is not ours. Used for the path back to the sender
        /// of a REQ; if empty, the arrival's own index is used.
        std::function<std::optional<unsigned>(const wire::Gid&)> gid_index;
        /// Other programs share our addresses, and each of them receives every MAD. A message with an id that is not
        /// ours is then assumed to be theirs and is not answered.
        bool shared = false;
        /// Whether another of these programs serves the service id; if so, the request is left to it. Must not block or
        /// call back; empty: never.
        std::function<bool(wire::CmServiceId)> elsewhere;
        /// Whether a program has bound the service id and may be about to listen: requests for it then wait a moment
        /// for the listener (early_requests.h). Must not block or call back; empty: never.
        std::function<bool(wire::CmServiceId)> bound;
        /// Limits of half-open requests from peers, and of dropped endpoints that close in the background. No peer port
        /// may hold more of either than are still free (shares.h).
        std::size_t most_half_open = cm::most_half_open, most_closing = cm::most_closing;
    };

    /// `channel` outlives the returned pointer.
    static Pointer create(Options options, mad::GmpChannel& channel);
    Manager(const Manager&) = delete;
    Manager& operator=(const Manager&) = delete;

    /// Active side. The request is sent at once.
    Result<EndpointPointer> connect(const Request& request, Time now);
    Result<EndpointPointer> resolve(const ServiceRequest& request, Time now);  ///< SIDR
    /// Listens for all service ids that equal `service` in the bits of `mask`. EADDRINUSE: another listener overlaps.
    Result<EndpointPointer> listen(wire::CmServiceId service, std::uint64_t mask, Time now);

    /// MADs of class 7 (communication management), in order of arrival. The table entries and sessions of a burst are
    /// prefetched together, since cache misses dominate the cost of a lookup.
    void receive(std::span<const mad::GmpArrival> burst, Time now);
    void receive(const mad::GmpPeer& from, mad::MadBytes mad, Time now) {
        const auto one = mad::GmpArrival::of(from, mad);
        receive({&one, 1}, now);
    }
    /// Processes expired timers: marks their endpoints ready. Call at or after `deadline`.
    void tick(Time now);
    std::optional<Time> deadline() const;
    /// Retransmits every unanswered DREQ now: for a process that exits and cannot wait for the timers.
    void repeat_disconnects(Time now);

    using Shown = Session::Shown;
    std::vector<Shown> show() const;
    std::size_t size() const { return sessions_.size(); }
    void counters(const CounterVisitor& visit) const;

private:
    friend class Actions;
    friend class Endpoint;
    friend class Session;

    Manager(Options options, mad::GmpChannel& channel);
    /// Drops all sessions without sending anything.
    void close();

    // For sessions and endpoints.

    /// Accepts a request from a listener's inbox. None: it is a retransmission, or it was rejected.
    std::optional<EndpointEvent> accept(const Session::Received& received, Time now);
    /// Registers a remote queue pair for `id`. Returns `id`, or the id of the open connection that already uses it.
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

    /// The latest `now` passed to any call.
    Time latest() const { return latest_.load(std::memory_order_relaxed); }
    void saw(Time now);

    // Its own.

    /// `make(id)` returns the state machine.
    template <class Make>
    Reference<Session> create_session(Make make) {
        return sessions_.insert(
            [&](std::uint32_t id) { return Reference<Session>::make(*this, id, Session::Machine(make(id))); });
    }
    EndpointPointer handle(const Reference<Session>& session);
    std::optional<EndpointEvent> accept_connection(const Session::Received& received, Time now);
    std::optional<EndpointEvent> accept_datagram(const Session::Received& received, Time now);
    std::optional<Rejection> objection(const wire::CmReq& req) const;
    std::optional<unsigned> gid_index(const wire::Gid& gid, const mad::GmpPeer& from) const;
    void refuse(const mad::GmpPeer& to, const ReceivedMessage& message, const Rejection& rejection,
                wire::CmAbout about);

    /// Lookup key of a message that names none of our ids; `table` is null if it names one.
    struct Sought {
        const RemoteTable* table = nullptr;
        RemoteEnd end;
    };
    Sought by_remote_end(const ReceivedMessage& message, const mad::GmpPeer& from) const;
    /// A parsed MAD and its lookup key.
    struct Looked {
        Looked(const Manager& manager, const mad::GmpArrival& arrival);
        std::expected<ReceivedMessage, Count> message;
        Sought sought;
    };
    Reference<Session> find(const Sought& sought) const { return sessions_.find(sought.table->find(sought.end)); }
    void receive_one(const mad::GmpArrival& arrival, const Looked& looked, Time now);
    void receive_req(const ReceivedMessage& message, const Sought& known, const mad::GmpPeer& from, Time now);
    void receive_sidr_req(const ReceivedMessage& message, const Sought& known, const mad::GmpPeer& from, Time now);
    void receive_version(const mad::GmpArrival& arrival);
    void receive_unknown(const ReceivedMessage& message, const mad::GmpPeer& from);
    bool to_listener(const ReceivedMessage& request, const mad::GmpPeer& from, Time now);
    void receive_unserved(const ReceivedMessage& request, const mad::GmpPeer& from, Time now);
    void refuse_unserved(const ReceivedMessage& request, const mad::GmpPeer& from);
    template <class Message>
    void answer(const mad::GmpPeer& to, const ReceivedMessage& to_what, const Message& message);
    void prefetch(std::span<const std::optional<Looked>> burst) const;

    Options options_;
    mad::GmpChannel& channel_;
    std::atomic<bool> closed_ = false;
    std::atomic<Time> latest_ = 0;
    CmCounters counters_;
    Timers timers_;
    RemoteTable connections_, queue_pairs_, peers_, datagram_requests_;
    Shares half_open_, closing_;
    Listeners listeners_;
    EarlyRequests early_;
    CommunicationIdTable<Session> sessions_;  ///< last: destructors of sessions use the members above
};

}  // namespace verbline::cm
