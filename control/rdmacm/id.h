// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// State of one RDMA CM id. A value; the transitions are in service_*.cc.
///
///     idle ─> addr_bound ─> addr_query ─> addr_resolved ─> route_query ─> route_resolved ─> connect ─> disconnect
///                  └──> listen                                       of a listener ────────────┘
///
/// From every state: device_removal, when its port goes.

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "control/cm/shares.h"
#include "control/rdmacm/address.h"
#include "control/rdmacm/event.h"
#include "control/rdmacm/incoming_request.h"
#include "control/rdmacm/network.h"
#include "control/rdmacm/service.h"
#include "pmd/base/time.h"

namespace verbline::rdmacm {

enum class IdState : std::uint8_t {
    idle,
    addr_query,
    addr_resolved,
    route_query,
    route_resolved,
    connect,
    disconnect,
    addr_bound,
    listen,
    device_removal,
};

/// Names as in Linux.
constexpr const char* to_string(IdState state) {
    constexpr std::array names{"IDLE",    "ADDR_QUERY", "ADDR_RESOLVED", "ROUTE_QUERY", "ROUTE_RESOLVED",
                               "CONNECT", "DISCONNECT", "ADDR_BOUND",    "LISTEN",      "DEVICE_REMOVAL"};
    return names[static_cast<std::size_t>(state)];
}

/// A bound port number: a port space and a number, possibly shared by ids (port_bindings.h).
struct BoundPort {
    PortSpace space{};
    std::uint16_t number = 0;
    auto operator<=>(const BoundPort&) const = default;
};

/// What the exchange of CM messages has negotiated, for the attributes of the queue pair.
struct NegotiatedConnection {
    cm::EndpointPointer endpoint;
    cm::ConnectionPath path;
    std::optional<wire::Qpn> remote;  ///< none until the peer has answered
    wire::Psn receive_psn, send_psn;  ///< receive: chosen by us, sent in REQ or REP
    wire::PKey pkey{0xffff};
    std::uint8_t mtu = 0;
    std::uint8_t responder_resources = 0, initiator_depth = 0;  ///< values for our queue pair
    std::uint8_t retry_count = 0, rnr_retry_count = 0, timeout = 0;
    bool established = false;  ///< the event has been reported
};

/// A listener's backlog: requests that the user has not taken yet.
struct Backlog {
    struct Waiting {
        IncomingRequest request;
        cm::Shares::Slot share = 0;
    };
    unsigned room = 0;                     ///< how many more requests may become events
    std::deque<Waiting> waiting{};         ///< requests for which there was no room
    std::unique_ptr<cm::Shares> places{};  ///< limits `waiting` per port; made for the first
};

struct Id {
    IdNumber number{};
    EventQueue* queue = nullptr;
    std::uint64_t user = 0;
    PortSpace space{};
    QueuePairType type{};
    IdState state = IdState::idle;
    Time since = 0;  ///< time of entering the state

    bool named = true;           ///< the user knows its number; a listener's child: once accepted
    std::uint32_t reported = 0;  ///< events reported to the user: taken from the queue
    std::uint32_t waiting = 0;   ///< events in the queue

    // Options.
    std::optional<std::uint8_t> type_of_service, ack_timeout;
    bool reuse_address = false;
    std::optional<bool> family_only;

    // Addresses and route. GIDs are those on the wire; where GIDs are IP addresses they equal those of the ends.
    SocketAddress source, destination;
    std::optional<BoundPort> bound;
    NetworkPort* port = nullptr;
    unsigned gid_index = 0;
    wire::Gid source_gid{}, destination_gid{};
    wire::Lid lid{};         ///< InfiniBand: of the port, as the user knows it
    wire::MacAddress mac{};  ///< RoCE: the next hop's
    std::vector<wire::PathRecord> paths;
    bool device_by_resolution = false;  ///< `port` was set by resolve_address, and is reset if that fails

    // Outstanding request to the port.
    NetworkPort::Ticket ticket = 0;  ///< 0: none
    std::optional<Time> deadline;

    NegotiatedConnection connection;
    Backlog backlog;
    std::vector<NetworkPort*> listening_on;
    std::optional<wire::QKey> qkey;
    std::vector<GroupNumber> groups;

    bool datagram() const { return type == QueuePairType::ud; }
    /// Whether it takes only requests of its own address family (RDMA_OPTION_ID_AFONLY).
    bool only_its_family() const { return family_only.value_or(source.family == Family::ipv4); }
};

}  // namespace verbline::rdmacm
