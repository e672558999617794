// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/cm_sidr_req.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/datapath/wire/golden.h"

namespace verbline::wire {
namespace {

TEST(CmSidrReq, Golden) {
    CmSidrReq request{.request_id = 1, .pkey = PKey{0x8001}, .service = CmServiceId{0x0111'1c06}};
    request.private_data.front() = std::byte{9};
    expect_golden("00000001 8001 0000 0000000001111c06 09" + std::string(430, '0'), request);
}

}  // namespace
}  // namespace verbline::wire
