// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Communication management: what all messages have in common. Each message has its own header: cm_req.h, cm_rep.h ...
///
///     active                      passive            client                    server
///       | ---- REQ ----------------> |                 | ---- SIDR_REQ --------> |
///       | <--- MRA: wait ----------- |                 | <--- SIDR_REP --------- |
///       | <--- REP (or REJ) -------- |
///       | ---- RTU (or REJ) -------> |               either side, later
///       |        connected           |                 | ---- LAP (DREQ) ------> |
///                                                      | <--- APR (DREP) ------- |
///
/// A message is the common MAD header of 24 bytes (mad.h: class `communication`, method `send`) and 232 bytes of its
/// own, which the structs describe. Unused private data is zero. IBTA volume 1, 12.6 to 12.8.

#include <cstddef>
#include <cstdint>

namespace verbline::wire {

constexpr std::uint8_t cm_class_version = 2;
constexpr std::size_t cm_message_size = 232;         ///< the MAD's data
constexpr std::size_t cm_additional_info_size = 72;  ///< of REJ, APR, SIDR_REP

/// MADHeader:AttributeID (table 97). To add a message: its header here, every_header.h, control/cm/message.h, its
/// counters in the order of these numbers, and its handler (control/cm/manager_receive.cc); see apps/EXTENDING.md.
enum class CmAttribute : std::uint16_t {
    req = 0x10,
    mra = 0x11,
    rej = 0x12,
    rep = 0x13,
    rtu = 0x14,
    dreq = 0x15,
    drep = 0x16,
    sidr_req = 0x17,
    sidr_rep = 0x18,
    lap = 0x19,
    apr = 0x1a,
};

/// Identifies the service a listener offers (12.7.3; RDMA CM: annex A11).
enum class CmServiceId : std::uint64_t {};

/// REQ:TransportServiceType; `extended` refers to the extended type, of which only XRC is defined (annex A14).
enum class CmTransport : std::uint8_t { rc = 0, uc = 1, rd = 2, extended = 3 };
enum class CmExtendedTransport : std::uint8_t { none = 0, xrc = 1 };

/// The message that an MRA acknowledges or a REJ rejects (12.6.6, 12.6.7).
enum class CmAbout : std::uint8_t {
    req = 0,
    rep = 1,
    other = 2,  ///< MRA: a LAP. REJ: none in particular
};

/// REJ:Reason (12.6.7.2).
enum class CmRejectReason : std::uint16_t {
    no_qp = 1,
    no_eec = 2,
    no_resources = 3,
    timeout = 4,
    unsupported_request = 5,
    invalid_communication_id = 6,
    invalid_communication_instance = 7,
    invalid_service_id = 8,
    invalid_transport = 9,
    stale_connection = 10,
    no_rdc = 11,
    primary_gid = 12,
    primary_lid = 13,
    primary_sl = 14,
    primary_traffic_class = 15,
    primary_hop_limit = 16,
    primary_rate = 17,
    alternate_gid = 18,
    alternate_lid = 19,
    alternate_sl = 20,
    alternate_traffic_class = 21,
    alternate_hop_limit = 22,
    alternate_rate = 23,
    cm_redirect = 24,
    port_redirect = 25,
    invalid_mtu = 26,
    responder_resources = 27,
    consumer = 28,
    rnr_retry = 29,
    duplicate_communication_id = 30,
    class_version = 31,
    primary_flow_label = 32,
    alternate_flow_label = 33,
    vendor_option = 35,
};

/// SIDR_REP:Status (12.11.2.1).
enum class SidrStatus : std::uint8_t {
    valid = 0,
    unsupported_service = 1,
    rejected = 2,
    no_qp = 3,
    redirect = 4,
    unsupported_version = 5,
};

/// APR:ARStatus (12.8.2.1).
enum class AprStatus : std::uint8_t {
    loaded = 0,
    invalid_communication_id = 1,
    unsupported = 2,
    rejected = 3,
    redirect = 4,
    duplicate = 5,
    wrong_qp = 6,
    invalid_lid = 7,
    invalid_gid = 8,
    invalid_flow_label = 9,
    invalid_traffic_class = 10,
    invalid_hop_limit = 11,
    invalid_rate = 12,
    invalid_sl = 13,
};

/// Nanoseconds for a time coded in five bits: 4.096 us * 2^n.
constexpr std::int64_t cm_nanoseconds(std::uint8_t coded) {
    return std::int64_t{4096} << (coded & 31);
}

}  // namespace verbline::wire
