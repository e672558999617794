// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Parameters of the connection manager's calls and events. Names and units are those of IBTA volume 1, chapter 12;
/// times that travel in messages are coded as there (4.096 us * 2^n).

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "control/mad/gmp.h"
#include "datapath/rdma/address.h"
#include "datapath/wire/cm.h"
#include "datapath/wire/types.h"

namespace verbline::cm {

using PrivateData = std::vector<std::byte>;

/// A path between the two ports, as REQ and LAP describe it (12.6.5).
struct ConnectionPath {
    rdma::Path route;  ///< used for the connection's packets and for our MADs
    wire::Gid local_gid{}, remote_gid{};
    wire::Lid local_lid = wire::permissive_lid, remote_lid = wire::permissive_lid;  ///< RoCE: permissive
    std::uint32_t flow_label = 0;                                                   ///< 20 bits
    std::uint8_t rate = 2;                                                          ///< coded as in PathRecord
    std::uint8_t traffic_class = 0, hop_limit = 64, sl = 0;
    bool subnet_local = false;          ///< both ends on one subnet, no GRH needed; RoCE: false
    std::uint8_t packet_lifetime = 18;  ///< coded; the local ACK timeout is derived from it
};

enum class Transport : std::uint8_t { rc, uc, xrc };

/// REQ.
struct Request {
    ConnectionPath primary;
    std::optional<ConnectionPath> alternate{};
    wire::CmServiceId service{};
    Transport transport = Transport::rc;
    wire::Qpn qpn{};
    wire::QKey qkey{};
    wire::Psn psn;
    wire::PKey pkey{0xffff};
    std::uint8_t mtu = 3;  ///< coded: 1 is 256, 5 is 4096
    std::uint8_t responder_resources = 0, initiator_depth = 0;
    std::uint8_t remote_response_timeout = 20, local_response_timeout = 20;  ///< coded
    std::uint8_t retry_count = 7, rnr_retry_count = 7, max_cm_retries = 15;
    bool shared_receive_queue = false, flow_control = true;
    /// Both ends send each other a REQ for the same service; the end with the lower (CA GUID, QPN) becomes passive
    /// (12.10.4).
    bool peer_to_peer = false;
    PrivateData private_data{};  ///< at most 92 bytes, of which RDMA CM takes 36
};

/// REP.
struct Reply {
    wire::Qpn qpn{};  ///< of an XRC target too, whose number travels in the EECN field
    wire::QKey qkey{};
    wire::Psn psn;
    std::uint8_t responder_resources = 0, initiator_depth = 0;
    std::uint8_t target_ack_delay = 15, failover_accepted = 0, rnr_retry_count = 7;
    bool shared_receive_queue = false, flow_control = true;
    PrivateData private_data{};  ///< at most 196 bytes
};

/// SIDR_REQ: resolves the queue pair that serves datagrams of a service.
struct ServiceRequest {
    ConnectionPath path;
    wire::CmServiceId service{};
    wire::PKey pkey{0xffff};
    std::uint8_t response_timeout = 20, max_cm_retries = 15;
    PrivateData private_data{};  ///< at most 216 bytes
};

/// SIDR_REP.
struct ServiceReply {
    wire::SidrStatus status{};
    wire::Qpn qpn{};
    wire::QKey qkey{};
    std::vector<std::byte> information{};  ///< at most 72 bytes
    PrivateData private_data{};            ///< at most 136 bytes
};

/// REJ.
struct Rejection {
    wire::CmRejectReason reason{};
    std::vector<std::byte> information{};  ///< ARI, at most 72 bytes
    PrivateData private_data{};            ///< at most 148 bytes
};

/// APR.
struct AlternateReply {
    wire::AprStatus status{};
    std::vector<std::byte> information{};
    PrivateData private_data{};
};

}  // namespace verbline::cm
