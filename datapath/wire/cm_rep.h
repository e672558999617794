// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// REP: accepts a REQ and describes the passive side's queue pair.
///
///     byte  0  local id       4  remote id      8  Q_Key
///          12  QPN 24; reserved (vendor id, as the next two)      16  EECN 24; reserved      20  PSN 24; reserved
///          24  responder resources      25  initiator depth
///          26  target ACK delay 5 bits, failover accepted 2, end-to-end flow control 1
///          27  RNR retry count 3 bits, SRQ 1, reserved 4
///          28  CA GUID       36  private data, 196 bytes
///
/// The target of an XRC connection sends its QPN in the EECN field (annex A14).
///
/// IBTA volume 1, 12.6.8.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "datapath/wire/cm.h"
#include "datapath/wire/header.h"
#include "datapath/wire/types.h"

namespace verbline::wire {

struct CmRep {
    static constexpr std::size_t size = cm_message_size;

    std::uint32_t local_id = 0;   ///< the sender's
    std::uint32_t remote_id = 0;  ///< the receiver's, as far as known
    QKey qkey{};
    Qpn qpn{};
    std::uint32_t eecn = 0;
    Psn psn;
    std::uint8_t responder_resources = 0;
    std::uint8_t initiator_depth = 0;
    std::uint8_t target_ack_delay = 0;  ///< 4.096 us * 2^n
    std::uint8_t failover_accepted = 0;
    bool flow_control = false;
    std::uint8_t rnr_retry_count = 0;
    bool shared_receive_queue = false;
    Guid ca_guid{};
    std::array<std::byte, 196> private_data{};

    using Layout =
        Fields<Field<&CmRep::local_id, at(0), 32>, Field<&CmRep::remote_id, at(4), 32>, Field<&CmRep::qkey, at(8), 32>,
               Field<&CmRep::qpn, at(12), 24>, Reserved<at(15), 8>, Field<&CmRep::eecn, at(16), 24>,
               Reserved<at(19), 8>, Field<&CmRep::psn, at(20), 24>, Reserved<at(23), 8>,
               Field<&CmRep::responder_resources, at(24), 8>, Field<&CmRep::initiator_depth, at(25), 8>,
               Field<&CmRep::target_ack_delay, at(26), 5>, Field<&CmRep::failover_accepted, at(26, 5), 2>,
               Field<&CmRep::flow_control, at(26, 7), 1>, Field<&CmRep::rnr_retry_count, at(27), 3>,
               Field<&CmRep::shared_receive_queue, at(27, 3), 1>, Reserved<at(27, 4), 4>,
               Field<&CmRep::ca_guid, at(28), 64>, Field<&CmRep::private_data, at(36), 1568>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<CmRep> parse(Bytes packet) { return read<CmRep>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const CmRep&) const = default;
};

}  // namespace verbline::wire
