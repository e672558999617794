// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/cm_req.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "tests/datapath/wire/golden.h"

namespace verbline::wire {
namespace {

constexpr Guid soft_roce_guid{0x5054'00ff'fe0e'0002};

Gid mapped(std::uint32_t address) {
    return Gid::of(0, Guid{0xffff'0000'0000u | address});
}

// As the Linux kernel's soft-RoCE asks for rping.
TEST(CmReq, Golden) {
    CmReq req{.local_id = 0x8867'7285,
              .service = CmServiceId{0x0106'1c06},
              .ca_guid = soft_roce_guid,
              .qpn = Qpn{0x11},
              .responder_resources = 1,
              .initiator_depth = 1,
              .remote_response_timeout = 20,
              .transport = CmTransport::rc,
              .psn = Psn{0xec7425},
              .local_response_timeout = 20,
              .retry_count = 7,
              .pkey = PKey{0xffff},
              .mtu = IbMtu::bytes_1024,
              .rnr_retry_count = 7,
              .max_cm_retries = 15,
              .primary = {.local_lid = permissive_lid,
                          .remote_lid = permissive_lid,
                          .local_gid = mapped(0x0a4d'0002),
                          .remote_gid = mapped(0x0a4d'0001),
                          .flow_label = 0x2b5cb,
                          .hop_limit = 64,
                          .ack_timeout = 19}};
    std::ranges::copy(test::from_hex("0040999b"), req.private_data.begin());
    std::ranges::copy(test::from_hex("0a4d0002"), req.private_data.begin() + 16);
    std::ranges::copy(test::from_hex("0a4d0001"), req.private_data.begin() + 32);
    expect_golden(
        "88677285 00000000 0000000001061c06 505400fffe0e0002 00000000 00000000 000011 01 000000 01 000000 a0"
        "ec7425 a7 ffff 37 f0 ffff ffff 00000000000000000000ffff0a4d0002 00000000000000000000ffff0a4d0001"
        "2b5cb000 00 40 00 98" +
            std::string(88, '0') + "0040999b" + std::string(24, '0') + "0a4d0002" + std::string(24, '0') + "0a4d0001" +
            std::string(112, '0'),
        req);
}

TEST(CmReq, GoldenOfTheRarerFields) {
    expect_golden(
        "00000001" + std::string(40, '0') + "00000000 12345678 000000 00 abcdef 00 123456 07 000000 00 0000 08 09" +
            std::string(88, '0') +
            "0001 0002 00000000000000000000000000000000 00000000000000000000000000000000 00000003 12 34 58 f8" +
            std::string(184, '0'),
        CmReq{.local_id = 1,
              .qkey = QKey{0x1234'5678},
              .eecn = 0xabcdef,
              .remote_eecn = 0x123456,
              .transport = CmTransport::extended,
              .flow_control = true,
              .rdc_exists = true,
              .shared_receive_queue = true,
              .extended_transport = CmExtendedTransport::xrc,
              .alternate = {.local_lid = Lid{1},
                            .remote_lid = Lid{2},
                            .rate = 3,
                            .traffic_class = 0x12,
                            .hop_limit = 0x34,
                            .service_level = 5,
                            .subnet_local = true,
                            .ack_timeout = 31}});
}

}  // namespace
}  // namespace verbline::wire
