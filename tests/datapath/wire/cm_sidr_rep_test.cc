// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/cm_sidr_rep.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/datapath/wire/golden.h"

namespace verbline::wire {
namespace {

TEST(CmSidrRep, Golden) {
    CmSidrRep reply{.request_id = 1,
                    .status = SidrStatus::redirect,
                    .information_length = 2,
                    .qpn = Qpn{0x11},
                    .service = CmServiceId{0x0111'1c06},
                    .qkey = QKey{0x0123'4567}};
    reply.information.front() = std::byte{8};
    reply.private_data.front() = std::byte{9};
    expect_golden("00000001 04 02 0000 000011 00 0000000001111c06 01234567 08" + std::string(142, '0') + "09" +
                      std::string(270, '0'),
                  reply);
}

}  // namespace
}  // namespace verbline::wire
