// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Which process a message of the connection manager is for: QP1 is the node's, connections are its members'.
///
///     REQ, SIDR_REQ    by service id and destination address: the member that listens there, or is bound there, or has
///                      requested the same service
///     all others       by the receiver's communication or request id, whose high bits are the member
///     no such member   answered in its name: REJ, DREP, SIDR_REP
///
/// What a member sends must have an id of its own; it is then passed on, to the wire or to a member. Pure: no I/O, no
/// clock. IBTA volume 1, chapter 12.

#include <functional>
#include <optional>
#include <variant>
#include <vector>

#include "control/node/connection_tracker.h"
#include "control/rdmacm/address.h"
#include "pmd/base/counter.h"

namespace verbline::node {

#define VERBLINE_GSI_ROUTER_DROPS(X)                                                                 \
    X(gsi_dropped_malformed, "frames for QP1 that hold no intact message of a connection manager")   \
    X(gsi_dropped_class_version, "messages of another version of the connection manager")            \
    X(gsi_dropped_foreign_id, "messages of a process with a communication id that is not its own")   \
    X(gsi_dropped_no_member, "messages for a connection of no process, to which there is no answer") \
    X(gsi_dropped_no_mbuf, "messages of the node's own not sent because no mbuf was free")

VERBLINE_COUNTER_ENUM(GsiDrop, VERBLINE_GSI_ROUTER_DROPS)

/// What a REQ or SIDR_REQ is for.
struct RequestTarget {
    wire::CmServiceId service{};
    std::optional<rdmacm::SocketAddress> destination{};  ///< as rdmacm::suits takes it
};

class GsiRouter {
public:
    struct Setup {
        /// The member whose use of the port the request suits best.
        std::function<std::optional<link::MemberId>(const RequestTarget&)> holder;
        std::function<bool(link::MemberId)> attached;
    };
    explicit GsiRouter(Setup setup) : setup_(std::move(setup)) {}

    struct Arrival {
        PeerMember from;       ///< none: it came from the wire
        bool to_wire = false;  ///< of a member, for another node
        const GsiHeaders& headers;
        const cm::ReceivedMessage& message;
    };
    struct Deliver {
        link::MemberId to;
    };
    struct Transmit {};
    struct Answer {
        mad::MadBuffer mad;  ///< back to where the message came from
    };
    using Verdict = std::variant<Deliver, Transmit, Answer, GsiDrop>;
    Verdict route(const Arrival& arrival);

    /// The member is no longer attached: what is to be said in its name.
    std::vector<Teardown> leave(link::MemberId member, Time now) { return tracker_.leave(member, now); }
    std::vector<Teardown> tick(Time now) { return tracker_.tick(now); }
    std::optional<Time> deadline() const { return tracker_.deadline(); }
    bool closing(link::MemberId member) const { return tracker_.closing(member); }
    std::size_t size() const { return tracker_.size(); }

private:
    bool may_send(link::MemberId member, const cm::ReceivedMessage& message) const;
    Verdict to_member(const Arrival& arrival);
    std::optional<link::MemberId> receiver(const cm::ReceivedMessage& message) const;

    Setup setup_;
    ConnectionTracker tracker_;
};

}  // namespace verbline::node
