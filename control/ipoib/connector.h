// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Makes the connections of an IPoIB interface in connected mode (RFC 4755), over the port's own QP1.
///
///     neighbour with the RC flag ── find ──> REQ ── REP ──> RTU: connected     its number, and what it takes
///                                             └─ REJ, no answer ──> 0: datagrams; tried again later, less and less
///                                             often
///     REQ for our service ──> a queue pair that receives ──> REP
///     no acknowledgement, DREQ ──> lost: the neighbour is to be located again
///
/// A connection carries packets one way. An interface without an identity has none. Owned by the control thread.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "control/cm/manager.h"
#include "control/loop/loop.h"
#include "control/mad/gsi.h"
#include "datapath/ipoib/connections.h"
#include "datapath/ipoib/interface.h"
#include "datapath/wire/path_record.h"
#include "pmd/base/event_descriptor.h"

namespace verbline::ipoib {

#define VERBLINE_CONNECTOR_COUNTERS(X)                                                \
    X(connections_opened, "connections to neighbours that were accepted")             \
    X(connections_refused, "connections that neighbours refused, or did not answer")  \
    X(connections_lost, "connections to neighbours that failed, or that they closed") \
    X(connections_accepted, "connections of neighbours that were accepted")           \
    X(connections_declined, "requests for connections that were declined: malformed, or too many")

struct ConnectorCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_CONNECTOR_COUNTERS)
};

class Connector {
public:
    struct Setup {
        Connections* connections = nullptr;  ///< outlives the connector
        std::function<void()> wake;          ///< has the shard look for what was posted
        /// Sends the shard the command to close a connection, behind those that say what neighbours use.
        std::function<void(ConnectionNumber)> close;
        /// Whether somebody sends to the neighbour.
        std::function<bool(const wire::IpoibAddress&)> wanted;
        /// The shard is to forget the neighbour until it is located again, which calls `find`.
        std::function<void(const wire::IpoibAddress&)> lost;
        /// The neighbour is to be located again: it has a connection now.
        std::function<void(const wire::IpoibAddress&)> found;
        std::function<void(const std::string&)> trouble;  ///< one line: connections cannot be made
    };

    Connector(control::Loop& loop, Setup setup);
    Connector(const Connector&) = delete;
    Connector& operator=(const Connector&) = delete;
    /// No thread polls the shard any more.
    ~Connector() = default;

    /// The interface's; none: it is down. All connections of another one end.
    void set_identity(const std::optional<Identity>& identity);

    using Found = std::function<void(ConnectionNumber)>;
    /// `neighbour`: as its hardware address says, with its flags; so it is named in the calls of Setup. Calls `found`
    /// once, now or later: with the connection to a neighbour by this path, or with 0 if it has none.
    /// While one is being made, the answer waits for it.
    void find(const wire::IpoibAddress& neighbour, const wire::PathRecord& path, Found found);

    /// Says good-bye to all neighbours. The shard has to poll once more.
    void retire();

    struct Row {
        wire::IpoibAddress neighbour;
        bool outgoing = false;
        std::string state;
        std::uint32_t mtu = 0;      ///< of IP packets; 0: not connected
        std::uint64_t packets = 0;  ///< sent
    };
    std::vector<Row> show() const;
    void counters(const CounterVisitor& visit) const;

private:
    struct Outgoing {
        cm::EndpointPointer endpoint;           ///< null: none is being made, and there is none
        std::unique_ptr<rdma::QueuePair> pair;  ///< with the endpoint
        wire::PathRecord path{};                ///< by which it was tried last
        wire::Psn first{};                      ///< of ours
        ConnectionNumber number = 0;            ///< once it is connected
        std::uint32_t mtu = 0;
        std::vector<Found> waiting;
        Time retry_at = 0, pause = 0;  ///< not before; doubled by each refusal
    };
    struct Incoming {
        cm::EndpointPointer endpoint;
        std::unique_ptr<rdma::QueuePair> pair;
    };
    struct Closing {
        ConnectionNumber number;
        std::unique_ptr<rdma::QueuePair> pair;
    };

    // connector.cc
    void start(const Identity& identity);
    Result<void> open_services(const Identity& identity);
    void reset();
    void settle();
    void upkeep();
    void poll(cm::Endpoint& endpoint);
    static wire::Psn random_psn();
    cm::PrivateData introduction() const;

    // connector_outgoing.cc
    void receive(const wire::IpoibAddress& neighbour, const cm::Endpoint& of, const cm::EndpointEvent& event);
    void begin(const wire::IpoibAddress& neighbour, Outgoing& outgoing);
    Result<void> request(const wire::IpoibAddress& neighbour, Outgoing& outgoing);
    cm::ConnectionPath connection_path(const wire::PathRecord& path) const;
    std::uint8_t path_mtu(const wire::PathRecord& path) const;
    void connect(const wire::IpoibAddress& neighbour, Outgoing& outgoing, const cm::Reply& reply);
    Result<void> make_ready(Outgoing& outgoing, const cm::Reply& reply);
    void refused(Outgoing& outgoing);
    void end(Outgoing& outgoing);
    void lose(const wire::IpoibAddress& neighbour, Outgoing& outgoing);
    void let_go(const wire::IpoibAddress& neighbour, Outgoing& outgoing);
    static void answer(Outgoing& outgoing);

    // connector_incoming.cc
    void accept(const cm::RequestReceived& received);
    void receive_incoming(const wire::IpoibAddress& neighbour, const cm::Endpoint& of, const cm::EndpointEvent& event);
    Result<std::unique_ptr<rdma::QueuePair>> make_receiver(const cm::Request& request);
    static void drop(Incoming& incoming);

    control::Loop& loop_;
    Setup setup_;
    std::optional<Identity> identity_;
    unsigned gid_index_ = 0;
    EventDescriptor arrived_;  ///< MADs; signalled by the shard
    control::Watch watch_;
    control::Timer timer_, upkeep_;
    std::unique_ptr<mad::Gsi> gsi_;
    cm::Manager::Pointer manager_;
    cm::EndpointPointer listener_;
    std::vector<cm::Endpoint*> ready_;
    std::map<wire::IpoibAddress, Outgoing> outgoing_;
    std::map<wire::IpoibAddress, Incoming> incoming_;
    std::vector<Closing> closing_;  ///< until the shard no longer uses them
    ConnectorCounters counters_;
};

}  // namespace verbline::ipoib
