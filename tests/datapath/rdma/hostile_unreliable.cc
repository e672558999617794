// SPDX-License-Identifier: BSD-3-Clause
#include <utility>

#include "tests/datapath/rdma/hostile_attack.h"

namespace verbline::hostile {

using enum transport::QueuePairState;
using transport::QueuePairType, transport::SendOperation;

// UC and UD: nobody is told but the counters.

namespace {

Row uc_dropped(std::string_view name, std::vector<Frame> frames, std::string_view counters, std::size_t written = 0) {
    return {.name = name,
            .type = QueuePairType::uc,
            .frames = std::move(frames),
            .counters = counters,
            .written = written,
            .receives = 1};
}
Row ud_dropped(std::string_view name, const Frame& frame, std::string_view counters) {
    return {.name = name, .type = QueuePairType::ud, .frames = {frame}, .counters = counters, .receives = 1};
}
/// The receive request cannot take it.
Row receive_of(std::string_view name, QueuePairType type, Key key) {
    return {.name = name,
            .type = type,
            .frames = {{.opcode = type == QueuePairType::uc ? uc(op::send_only) : ud(op::send_only), .payload = 64}},
            .completions = "receive: local protection error",
            .state = error,
            .receives = 1,
            .receive_key = key};
}
Row too_long(std::string_view name, QueuePairType type, std::uint32_t room) {
    return {.name = name,
            .type = type,
            .frames = {{.opcode = type == QueuePairType::uc ? uc(op::send_only) : ud(op::send_only), .payload = 64}},
            .counters = "resp_local_length_error",
            .completions = "receive: local length error",
            .state = type == QueuePairType::uc ? error : transport::QueuePairState::rts,
            .written = 4096 + room,
            .receives = 1,
            .receive_size = room};
}

}  // namespace

std::vector<Row> unreliable_rows() {
    const Frame first{.opcode = uc(op::send_first), .payload = 1024};
    constexpr std::size_t sent = 4096 + 1024;
    return {
        uc_dropped("UC WRITE, unknown key", {{.opcode = uc(op::write_only), .payload = 64, .key = Key::unknown}},
                   "rx_dropped_unreliable"),
        uc_dropped("UC WRITE, ends behind the region",
                   {{.opcode = uc(op::write_only), .payload = 64, .offset = 8192 - 63}}, "rx_dropped_unreliable"),
        uc_dropped("UC WRITE, to read-only memory",
                   {{.opcode = uc(op::write_only), .payload = 64, .key = Key::read_only}}, "rx_dropped_unreliable"),
        uc_dropped("UC WRITE, page is gone", {{.opcode = uc(op::write_only), .payload = 64, .key = Key::gone}},
                   "rx_dropped_unreliable"),
        uc_dropped("UC WRITE, RETH says more", {{.opcode = uc(op::write_only), .payload = 64, .length = 65}},
                   "rx_dropped_unreliable"),
        uc_dropped("UC SEND middle without a first", {{.opcode = uc(op::send_middle), .payload = 1024}},
                   "rx_dropped_unreliable"),
        uc_dropped("UC SEND last after a gap", {first, {.opcode = uc(op::send_last), .psn = 2, .payload = 64}},
                   "rx_dropped_unreliable", sent),
        uc_dropped("UC WRITE last in a SEND", {first, {.opcode = uc(op::write_last), .psn = 1, .payload = 64}},
                   "rx_dropped_unreliable", sent),
        uc_dropped("UC SEND first shorter than the path MTU", {{.opcode = uc(op::send_first), .payload = 64}},
                   "rx_dropped_unreliable"),
        uc_dropped("UC SEND only longer than the path MTU", {{.opcode = uc(op::send_only), .payload = 1028}},
                   "rx_dropped_unreliable"),
        uc_dropped("UC READ", {{.opcode = uc(op::read_request), .length = 64}}, "rx_dropped_opcode"),
        uc_dropped("UC FETCH_ADD", {{.opcode = uc(op::fetch_add)}}, "rx_dropped_opcode"),
        uc_dropped("UC SEND with invalidate", {{.opcode = uc(op::send_only_invalidate)}}, "rx_dropped_opcode"),
        uc_dropped("RC SEND to UC", {{.opcode = op::send_only, .payload = 64}}, "rx_dropped_opcode"),
        uc_dropped("UC SEND from another address",
                   {{.opcode = uc(op::send_only), .payload = 64, .from = From::elsewhere}}, "rx_dropped_source"),
        {.name = "UC WRITE, not enabled",
         .type = QueuePairType::uc,
         .frames = {{.opcode = uc(op::write_only), .payload = 64}},
         .counters = "rx_dropped_unreliable",
         .access = memory::Access::none},
        {.name = "UC SEND, nothing posted",
         .type = QueuePairType::uc,
         .frames = {{.opcode = uc(op::send_only), .payload = 64}},
         .counters = "rx_dropped_no_receive"},
        {.name = "UC SEND cut short, then a whole one: one receive request serves both",
         .type = QueuePairType::uc,
         .frames = {first, {.opcode = uc(op::send_only), .psn = 7, .payload = 64}},
         .completions = "receive: success",
         .written = sent,
         .receives = 1},
        too_long("UC SEND longer than the receive request", QueuePairType::uc, 63),
        receive_of("UC SEND to a receive request of another protection domain", QueuePairType::uc, Key::other_domain),
        receive_of("UC SEND to a receive request whose page is gone", QueuePairType::uc, Key::gone),
        ud_dropped("UD, wrong Q_Key", {.opcode = ud(op::send_only), .payload = 64, .qkey = 0x1235}, "rx_dropped_qkey"),
        ud_dropped("UD, wrong P_Key and Q_Key: the P_Key is looked at first",
                   {.opcode = ud(op::send_only), .payload = 64, .pkey = 0x8001, .qkey = 0x1235}, "rx_dropped_pkey"),
        ud_dropped("UD, longer than the path MTU", {.opcode = ud(op::send_only), .payload = 1028}, "rx_dropped_mtu"),
        ud_dropped("UD, no room for the DETH", {.opcode = ud(op::send_only), .cut = 4}, "rx_dropped_length"),
        ud_dropped("UD, no room for the immediate", {.opcode = ud(op::send_only_immediate), .cut = 4},
                   "rx_dropped_length"),
        ud_dropped("UD SEND first", {.opcode = ud(op::send_first), .payload = 1024}, "rx_dropped_opcode"),
        ud_dropped("UD WRITE", {.opcode = ud(op::write_only), .payload = 64}, "rx_dropped_opcode"),
        ud_dropped("RC SEND to UD", {.opcode = op::send_only, .payload = 64}, "rx_dropped_opcode"),
        ud_dropped("UD to a group that nobody attached to",
                   {.opcode = ud(op::send_only), .payload = 64, .qpn = 0xff'ffff}, "rx_dropped_multicast"),
        {.name = "UD, nothing posted",
         .type = QueuePairType::ud,
         .frames = {{.opcode = ud(op::send_only), .payload = 64}},
         .counters = "rx_dropped_no_receive"},
        too_long("UD, longer than the receive request", QueuePairType::ud, 103),
        too_long("UD, receive request without room for the GRH", QueuePairType::ud, 39),
        receive_of("UD to a receive request of another protection domain", QueuePairType::ud, Key::other_domain),
        receive_of("UD to a receive request whose page is gone", QueuePairType::ud, Key::gone),
    };
}

}  // namespace verbline::hostile
