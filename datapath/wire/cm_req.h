// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// REQ: requests a connection and describes the active side's queue pair.
///
///     byte  0  local id       4  reserved (vendor id)       8  service id, 8 bytes      16  CA GUID
///          24  reserved      28  Q_Key      32  QPN 24      35  responder resources
///          36  EECN 24       39  initiator depth
///          40  remote EECN 24; remote response timeout 5 bits, transport 2, end-to-end flow control 1
///          44  PSN 24; local response timeout 5 bits, retry count 3
///          48  P_Key         50  MTU 4 bits, RDC exists 1, RNR retry count 3
///          51  most CM retries 4 bits, SRQ 1, extended transport 3
///          52  primary path, 44 bytes       96  alternate path, 44 bytes      140  private data, 92 bytes
///
/// IBTA volume 1, 12.6.5; XRC: annex A14.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "datapath/wire/cm.h"
#include "datapath/wire/cm_path.h"
#include "datapath/wire/header.h"
#include "datapath/wire/sa.h"
#include "datapath/wire/types.h"

namespace verbline::wire {

struct CmReq {
    static constexpr std::size_t size = cm_message_size;

    std::uint32_t local_id = 0;  ///< the sender's
    CmServiceId service{};
    Guid ca_guid{};
    QKey qkey{};
    Qpn qpn{};
    std::uint8_t responder_resources = 0;
    std::uint32_t eecn = 0;
    std::uint8_t initiator_depth = 0;
    std::uint32_t remote_eecn = 0;
    std::uint8_t remote_response_timeout = 0;  ///< time for the passive side to answer: 4.096 us * 2^n
    CmTransport transport{};
    bool flow_control = false;
    Psn psn;
    std::uint8_t local_response_timeout = 0;  ///< time for the active side to answer: 4.096 us * 2^n
    std::uint8_t retry_count = 0;
    PKey pkey{};
    IbMtu mtu{};
    bool rdc_exists = false;
    std::uint8_t rnr_retry_count = 0;
    std::uint8_t max_cm_retries = 0;
    bool shared_receive_queue = false;
    CmExtendedTransport extended_transport{};
    CmPath primary{};
    CmPath alternate{};
    std::array<std::byte, 92> private_data{};

    using Layout =
        Fields<Field<&CmReq::local_id, at(0), 32>, Reserved<at(4), 32>, Field<&CmReq::service, at(8), 64>,
               Field<&CmReq::ca_guid, at(16), 64>, Reserved<at(24), 32>, Field<&CmReq::qkey, at(28), 32>,
               Field<&CmReq::qpn, at(32), 24>, Field<&CmReq::responder_resources, at(35), 8>,
               Field<&CmReq::eecn, at(36), 24>, Field<&CmReq::initiator_depth, at(39), 8>,
               Field<&CmReq::remote_eecn, at(40), 24>, Field<&CmReq::remote_response_timeout, at(43), 5>,
               Field<&CmReq::transport, at(43, 5), 2>, Field<&CmReq::flow_control, at(43, 7), 1>,
               Field<&CmReq::psn, at(44), 24>, Field<&CmReq::local_response_timeout, at(47), 5>,
               Field<&CmReq::retry_count, at(47, 5), 3>, Field<&CmReq::pkey, at(48), 16>, Field<&CmReq::mtu, at(50), 4>,
               Field<&CmReq::rdc_exists, at(50, 4), 1>, Field<&CmReq::rnr_retry_count, at(50, 5), 3>,
               Field<&CmReq::max_cm_retries, at(51), 4>, Field<&CmReq::shared_receive_queue, at(51, 4), 1>,
               Field<&CmReq::extended_transport, at(51, 5), 3>, Field<&CmReq::primary, at(52), 352>,
               Field<&CmReq::alternate, at(96), 352>, Field<&CmReq::private_data, at(140), 736>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<CmReq> parse(Bytes packet) { return read<CmReq>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const CmReq&) const = default;
};

}  // namespace verbline::wire
