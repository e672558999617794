// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Messages of agents that are under way: those that wait for an answer, repeated until it comes or the time is up,
/// and those that RMPP is still sending.
///
///     add ──> segments, if RMPP ── last acknowledged ──> answer awaited ──┬── answered ──> gone
///      └───────────────────────────────────────────────────┘  tick       └── time is up ──> the program reads
///      ETIMEDOUT
///
/// Pure: no I/O, no clock.

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "apps/libibverbs/umad/agent_table.h"
#include "apps/libibverbs/umad/message.h"
#include "apps/libibverbs/umad/rmpp_sender.h"
#include "pmd/base/time.h"

namespace verbline::verbs {

/// A MAD to send from one of our queue pairs.
struct Transmission {
    std::uint8_t qpn = 1;  ///< ours
    FarEnd to;
    mad::MadBuffer mad{};
    /// When an answer is due, nanoseconds from now; 0: none is expected.
    Time reply_within = 0;
};

/// Names a message under way, by its agent, transaction id and class. Several may answer the same request's id of
/// different peers, so those have their peer in the key.
struct RequestKey {
    AgentTid agent{};
    std::uint64_t transaction = 0;
    wire::MadClass management_class{};
    std::optional<wire::Lid> peer{};  ///< of answers that RMPP sends
    auto operator<=>(const RequestKey&) const = default;
};

class RequestTable {
public:
    struct Expired {
        FileId file{};
        Incoming message;
    };
    struct Actions {
        std::vector<Transmission> transmissions;
        std::vector<Expired> expired;
    };
    static constexpr std::size_t most = 4096;  ///< under way at once

    /// Begins. `segmented`: RMPP sends it. EINVAL: a message with this key is under way; ENOMEM: too many are.
    Result<void> add(const RequestKey& key, const MadAgent& agent, Outgoing message, bool segmented, Time now,
                     Actions& out);
    /// True if a message with this key is under way; it is answered, and gone.
    bool answered(const RequestKey& key);
    bool contains(const RequestKey& key) const { return requests_.contains(key); }
    /// A part of its answer has come: it is not repeated, and expires if the rest has not come `until` then.
    void progressed(const RequestKey& key, Time until);
    /// An RMPP answer to a segment of ours.
    void acknowledged(const RequestKey& key, const wire::Rmpp& answer, Time now, Actions& out);

    void tick(Time now, Actions& out);
    std::optional<Time> deadline() const;
    /// Drops those of an agent.
    void remove(AgentTid agent);

private:
    struct Request {
        FileId file{};
        std::uint8_t qpn = 1;
        Outgoing message;
        std::optional<RmppSender> segments;  ///< still sending
        std::uint32_t retries_left = 0;
        Time due = 0;
    };
    using Requests = std::map<RequestKey, Request>;

    void transmit(const Request& request, const RmppSender::Segments& segments, Actions& out);
    bool advance(Request& request, RmppSender::State state, Time now, Actions& out);
    void expire(const Request& request, Actions& out);

    Requests requests_;
};

}  // namespace verbline::verbs
