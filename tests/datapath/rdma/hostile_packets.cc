// SPDX-License-Identifier: BSD-3-Clause
#include "tests/datapath/rdma/hostile_attack.h"

namespace verbline::hostile {

using enum transport::QueuePairState;
using transport::QueuePairType, transport::SendOperation;

// Packets that are refused before a transport looks at them: no answer, one counter.

namespace {

Row dropped(std::string_view name, const Frame& frame, std::string_view counter) {
    return {.name = name, .frames = {frame}, .counters = counter, .receives = 1};
}
Row in_state(transport::QueuePairState state, std::string_view name, const Frame& frame) {
    return {.name = name, .frames = {frame}, .counters = "rx_dropped_state", .state = state, .before = state};
}

Frame send_with(std::uint8_t opcode) {
    auto frame = plain_send;
    frame.opcode = opcode;
    return frame;
}

}  // namespace

std::vector<Row> packet_rows() {
    return {
        dropped("unknown QPN", {.opcode = op::send_only, .payload = 64, .qpn = 0x123456}, "rx_dropped_qpn"),
        dropped("QPN 0", {.opcode = op::send_only, .payload = 64, .qpn = 0}, "rx_dropped_qpn"),
        dropped("SEND of RC to the multicast QPN", {.opcode = op::send_only, .payload = 64, .qpn = 0xffffff},
                "rx_dropped_multicast"),
        dropped("P_Key of another partition", {.opcode = op::send_only, .payload = 64, .pkey = 0x8001},
                "rx_dropped_pkey"),
        dropped("P_Key 0", {.opcode = op::send_only, .payload = 64, .pkey = 0x8000}, "rx_dropped_pkey"),
        dropped("transport version 1", {.opcode = op::send_only, .payload = 64, .version = 1}, "rx_dropped_bth"),
        dropped("more padding than payload", {.opcode = op::send_only, .payload = 0, .pad = 3}, "rx_dropped_bth"),
        dropped("headers and padding overlap", {.opcode = op::write_only, .payload = 0, .pad = 2}, "rx_dropped_length"),
        dropped("from another address", {.opcode = op::send_only, .payload = 64, .from = From::elsewhere},
                "rx_dropped_source"),
        dropped("over IPv6 to a connection over IPv4",
                {.opcode = op::send_only, .payload = 64, .from = From::peer_by_ipv6}, "rx_dropped_source"),
        dropped("by RoCE v1 to a connection of v2", {.opcode = op::send_only, .payload = 64, .from = From::peer_by_v1},
                "rx_dropped_source"),
        dropped("response from another address", {.opcode = op::acknowledge, .from = From::elsewhere},
                "rx_dropped_source"),
        dropped("opcode 0x15, reserved", send_with(0x15), "rx_dropped_opcode"),
        dropped("opcode 0x1f, reserved", send_with(0x1f), "rx_dropped_opcode"),
        dropped("opcode 0x44, SEND of RD", send_with(0x44), "rx_dropped_opcode"),
        dropped("opcode 0xc4, of a vendor", send_with(0xc4), "rx_dropped_opcode"),
        dropped("SEND of UC to RC", send_with(uc(op::send_only)), "rx_dropped_opcode"),
        dropped("SEND of UD to RC", send_with(ud(op::send_only)), "rx_dropped_opcode"),
        dropped("SEND of XRC to RC", send_with(xrc(op::send_only)), "rx_dropped_opcode"),
        dropped("WRITE without room for its RETH", {.opcode = op::write_only, .cut = 4}, "rx_dropped_length"),
        dropped("READ without room for its RETH", {.opcode = op::read_request, .cut = 16}, "rx_dropped_length"),
        dropped("FETCH_ADD without room for its AtomicETH", {.opcode = op::fetch_add, .cut = 4}, "rx_dropped_length"),
        dropped("FLUSH without room for its RETH", {.opcode = op::flush, .cut = 16}, "rx_dropped_length"),
        dropped("ACK without room for its AETH", {.opcode = op::acknowledge, .cut = 4}, "rx_dropped_length"),
        dropped("ATOMIC ACK without room for its value", {.opcode = op::atomic_acknowledge, .cut = 8},
                "rx_dropped_length"),
        dropped("SEND with immediate without room for it", {.opcode = op::send_only_immediate, .cut = 4},
                "rx_dropped_length"),
        in_state(init, "SEND in INIT", plain_send),
        in_state(init, "ACK in INIT", {.opcode = op::acknowledge}),
        {.name = "ACK in RTR",
         .frames = {{.opcode = op::acknowledge}},
         .counters = "rx_dropped_state",
         .state = rtr,
         .before = rtr},
        {.name = "SEND to XRC initiator",
         .type = QueuePairType::xrc_initiator,
         .frames = {{.opcode = xrc(op::send_only), .payload = 64}},
         .counters = "rx_dropped_opcode"},
        {.name = "ACK to XRC target",
         .type = QueuePairType::xrc_target,
         .frames = {{.opcode = xrc(op::acknowledge)}},
         .counters = "rx_dropped_state"},
        {.name = "CNP from the peer",
         .frames = {{.opcode = op::congestion_notification, .payload = 16, .becn = true}},
         .counters = "rp_cnp_handled"},
        {.name = "CNP, forged: from another address",
         .frames = {{.opcode = op::congestion_notification, .payload = 16, .becn = true, .from = From::elsewhere}},
         .counters = "rx_dropped_source"},
        {.name = "CNP for an unknown QPN",
         .frames = {{.opcode = op::congestion_notification, .payload = 16, .becn = true, .qpn = 0x123456}},
         .counters = "rx_dropped_qpn"},
        {.name = "CNP for the multicast QPN",
         .frames = {{.opcode = op::congestion_notification, .payload = 16, .becn = true, .qpn = 0xffffff}},
         .counters = "rx_dropped_multicast"},
        {.name = "CNP for a datagram queue pair",
         .type = QueuePairType::ud,
         .frames = {{.opcode = op::congestion_notification, .payload = 16, .becn = true}},
         .counters = "rp_cnp_ignored"},
        {.name = "CNP in INIT",
         .frames = {{.opcode = op::congestion_notification, .payload = 16, .becn = true}},
         .counters = "rp_cnp_ignored",
         .state = init,
         .before = init},
    };
}

}  // namespace verbline::hostile
