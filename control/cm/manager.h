// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The connection manager of one port: endpoints and how MADs find them.
///
///     MADs ─> Manager::receive ──> by local id | by (remote id, GID) | by service id ──> endpoint's inbox ──> ready
///
/// Threads: any, at the same time; lookups take a lock of one part of one table, never a common one.

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
        std::uint64_t seed = 1;  ///< of communication ids, request ids, transaction ids: random, or told by a test
        /// There is something to poll; once until it has been drained. From `receive`, `tick`, or a user's call about
        /// another endpoint; must not block or call back.
        std::function<void(Endpoint&)> on_ready;
        /// Which of our GIDs has index n; empty: none. For the path back to whoever sent a REQ.
        std::function<std::optional<unsigned>(const wire::Gid&)> gid_index;
        /// Others have our addresses, too, and each of us sees every MAD: what names an id that is not ours is for one
        /// of them, and not answered.
        bool shared = false;
        /// Whether one of these others has the service: its requests are left to that one. Must not block or call back;
        /// empty: nobody has.
        std::function<bool(wire::CmServiceId)> elsewhere;
        /// How many requests of peers may be half open, and how many dropped endpoints close in the background; no peer
        /// may have more of them than are still free (shares.h).
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
    /// Service ids that equal `service` in the bits of `mask`. EADDRINUSE: another listener has some of them.
    Result<EndpointPointer> listen(wire::CmServiceId service, std::uint64_t mask, Time now);

    /// MADs of class 7 (communication management), in the order in which they came. Of those that come together the
    /// memory for all is asked for at once, which is most of what finding an endpoint among many takes.
    void receive(std::span<const mad::GmpArrival> burst, Time now);
    void receive(const mad::GmpPeer& from, mad::MadBytes mad, Time now) {
        const mad::GmpArrival one{.from = from, .mad = mad};
        receive({&one, 1}, now);
    }
    /// Makes endpoints ready whose time has come; call at or after `deadline`.
    void tick(Time now);
    std::optional<Time> deadline() const;
    /// Sends every DREQ that waits for its answer once more, before its time: for a process that ends and cannot wait.
    void repeat_disconnects(Time now);

    struct Shown {
        CommunicationId local{}, remote{};
        State state{};
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
    std::shared_ptr<Core> core_;  ///< endpoints keep it
};

}  // namespace verbline::cm
