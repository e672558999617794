// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Events of RDMA CM ids, with the values of enum rdma_cm_event_type.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "control/cm/parameters.h"
#include "datapath/rdma/address.h"
#include "datapath/wire/types.h"

namespace verbline::rdmacm {

enum class IdNumber : std::uint32_t {};     ///< of an id, as the rdma_cm device reports it
enum class GroupNumber : std::uint32_t {};  ///< of a multicast join

enum class EventKind : std::uint8_t {
    address_resolved,
    address_error,
    route_resolved,
    route_error,
    connect_request,
    connect_response,
    connect_error,
    unreachable,
    rejected,
    established,
    disconnected,
    device_removal,
    multicast_join,
    multicast_error,
    address_change,
    timewait_exit,
};

/// struct rdma_conn_param.
struct ConnectParameters {
    wire::Qpn qpn{};
    wire::QKey qkey{};
    bool valid = true;  ///< accept: false answers without a queue pair's attributes
    bool shared_receive_queue = false;
    std::uint8_t responder_resources = 0, initiator_depth = 0;
    bool flow_control = false;
    std::uint8_t retry_count = 0, rnr_retry_count = 0;
    cm::PrivateData private_data{};
};

/// struct rdma_ud_param: destination of datagrams to a peer's queue pair or to a group.
struct DatagramParameters {
    wire::Qpn qpn{};
    wire::QKey qkey{};
    rdma::Path path{};
    cm::PrivateData private_data{};
};

struct CmEvent {
    EventKind kind{};
    IdNumber id{};           ///< the id concerned; connect_request: the new id
    IdNumber listener{};     ///< connect_request: the listening id
    std::uint64_t user = 0;  ///< context of the id; connect_request: of the listener, multicast: of the join
    int status = 0;          ///< 0, a negative errno, or a reject reason
    GroupNumber group{};     ///< multicast_join, multicast_error
    bool datagram = false;   ///< true: `ud` is valid, else `connect`
    ConnectParameters connect{};
    DatagramParameters ud{};
};

/// Event queue of the ids of one channel, in order. `on_event` is called for each event queued; it must not block or
/// call back. destroy_id, migrate and close remove events that were not taken. Must outlive its ids: call
/// Service::close first.
struct EventQueue {
    std::deque<CmEvent> events{};
    std::function<void()> on_event{};
    std::size_t ids = 0;  ///< ids that use this queue; changed by the service only
};

}  // namespace verbline::rdmacm
