// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The connection manager of one port: endpoints and how MADs find them.
///
///     MADs ─> Manager::receive ──> by local id | by (remote id, GID) | by service id ──> endpoint's inbox ──> ready
///
/// Thread-safe. A lookup takes the lock of one partition of one table; there is no global lock.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "control/cm/endpoint.h"
#include "control/cm/peer_limits.h"
#include "control/mad/gmp.h"
#include "pmd/base/counter.h"
#include "pmd/base/error.h"
#include "pmd/base/time.h"

namespace verbline::cm {

class Core;

class Manager {
public:
    struct Options {
        wire::Guid ca_guid{};
        std::uint64_t seed = 1;  ///< of communication, request and transaction ids; random, except in tests
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
        /// Limits of half-open requests from peers, and of dropped endpoints that close in the background. No peer port
        /// may hold more of either than are still free (shares.h).
        std::size_t most_half_open = cm::most_half_open, most_closing = cm::most_closing;
    };

    /// `channel` outlives the manager.
    Manager(Options options, mad::GmpChannel& channel);
    ~Manager();
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
        const mad::GmpArrival one{.from = from, .mad = mad};
        receive({&one, 1}, now);
    }
    /// Processes expired timers: marks their endpoints ready. Call at or after `deadline`.
    void tick(Time now);
    std::optional<Time> deadline() const;
    /// Retransmits every unanswered DREQ now: for a process that exits and cannot wait for the timers.
    void repeat_disconnects(Time now);

    struct Shown {
        CommunicationId local{}, remote{};
        ConnectionState state{};
        wire::CmServiceId service{};
        wire::Gid peer{};
        wire::Qpn local_qpn{}, remote_qpn{};
        unsigned retries = 0;
        Time since = 0;  ///< in this state
    };
    std::vector<Shown> show() const;
    std::size_t size() const;
    void counters(const CounterVisitor& visit) const;

private:
    std::shared_ptr<Core> core_;  ///< shared with the endpoints
};

}  // namespace verbline::cm
