// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What a node must know of its members' connections to end them in the name of a member that was killed: a kernel does
/// so for its processes.
///
///     REQ, REP, RTU ... as they pass ──> ConnectionTracker ──┐
///     a member has left, time ────────────────────────────────┴──> DREQ, until it is answered; REJ
///
/// Pure: no I/O, no clock. Only messages that passed verification are to be given to it.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "control/cm/member_ids.h"
#include "control/cm/message.h"
#include "control/node/gsi_frame.h"
#include "datapath/link/member.h"
#include "datapath/wire/types.h"
#include "pmd/base/time.h"

namespace verbline::node {

/// The other end of a message: a member of the same node, or somebody on the wire.
using PeerMember = std::optional<link::MemberId>;

/// A message that the node sends of its own accord.
struct Teardown {
    PeerMember to;
    GsiHeaders headers;
    mad::MadBuffer mad;
};

class ConnectionTracker {
public:
    static constexpr std::size_t most_of_member = link::member_queue_pairs;  ///< connections
    /// Requests that a member has got and not answered. The oldest one makes room: peers may send any number, and the
    /// member may drop them.
    static constexpr std::size_t most_requests = 1024;
    static constexpr Time teardown_interval = 250 * millisecond;
    static constexpr unsigned teardown_attempts = 8;  ///< DREQs without an answer, then the peer is taken for dead

    /// Whether the member may refuse or answer this request without an id of its own: it was delivered to it.
    bool has_request(link::MemberId member, std::uint32_t requester_id) const {
        return requests_.contains({member, requester_id});
    }
    /// A message of the member `from`, on its way to `to`.
    void sent(link::MemberId from, PeerMember to, const cm::ReceivedMessage& message, const GsiHeaders& headers);
    /// A message that the member `to` is about to receive. `back`: the headers of an answer.
    void received(link::MemberId to, PeerMember from, const cm::ReceivedMessage& message, const GsiHeaders& back);
    /// A message to a member that has left.
    void received_late(const cm::ReceivedMessage& message);

    /// The member has left: returns the first message for each peer.
    std::vector<Teardown> leave(link::MemberId member, Time now);
    /// Those that are due again.
    std::vector<Teardown> tick(Time now);
    std::optional<Time> deadline() const;
    /// Peers of a member that has left may still answer: its number must not be given to another.
    bool closing(link::MemberId member) const;

    /// The member that has requested a connection to this service, and has no answer: the peer may have requested one
    /// at the same time (IBTA volume 1, 12.10.4).
    std::optional<link::MemberId> requester(wire::CmServiceId service) const;

    std::size_t size() const { return open_.size(); }

private:
    struct Connection {
        PeerMember peer;
        std::uint32_t remote_id = 0;  ///< 0: not known yet
        wire::Qpn remote_qpn{};
        wire::CmServiceId service{};  ///< of a request of ours that is not answered; else 0
        GsiHeaders headers;           ///< towards the peer
        Time due = 0;                 ///< of a member that has left
        unsigned left = 0;            ///< messages to send; 0: the member is there
    };
    using Number = std::uint64_t;
    /// A request that was delivered and is not answered.
    struct Request {
        PeerMember peer;
        wire::CmAttribute kind{};  ///< req or sidr_req
        wire::Qpn qpn{};
        std::uint64_t transaction = 0;
        GsiHeaders back;
        Number number = 0;  ///< in the order of arrival
    };
    using LocalId = std::uint32_t;
    using RequestKey = std::pair<link::MemberId, std::uint32_t>;  ///< who got it, the requester's id

    void request(link::MemberId from, LocalId id, const Connection& connection);
    void forget(LocalId id);
    void add_request(link::MemberId member, std::uint32_t requester_id, Request request);
    void forget_request(link::MemberId member, std::uint32_t requester_id);
    void answered(Connection& connection, LocalId id);
    std::vector<Teardown> refuse_requests(link::MemberId member);
    Teardown next_teardown(LocalId id, Connection& connection, Time now);

    std::map<LocalId, Connection> open_;  ///< by our id, whose high bits are the member
    std::map<RequestKey, Request> requests_;
    std::map<link::MemberId, std::map<Number, std::uint32_t>> request_order_;  ///< by arrival: requesters' ids
    Number last_request_ = 0;
    std::map<link::MemberId, std::size_t> counts_;               ///< of connections
    std::set<std::pair<wire::CmServiceId, LocalId>> requested_;  ///< services of requests of ours that are not answered
    std::set<std::pair<Time, LocalId>> due_;
};

}  // namespace verbline::node
