// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/service_record.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "tests/datapath/wire/golden.h"

namespace verbline::wire {
namespace {

// As OpenSM answers.
TEST(ServiceRecord, Golden) {
    ServiceRecord record{.service_id = 0x1122334455667788,
                         .gid = Gid::of(default_subnet_prefix, Guid{0x10'0004}),
                         .pkey = PKey{0xffff},
                         .lease = 3600};
    std::ranges::copy(test::from_hex("766572626c696e652d74657374"), record.name.begin());
    record.data.front() = std::byte{0xaa};
    record.data.back() = std::byte{0xbb};
    expect_golden("1122334455667788 fe800000000000000000000000100004 ffff 0000 00000e10" + std::string(32, '0') +
                      "766572626c696e652d74657374" + std::string(102, '0') + "aa" + std::string(124, '0') + "bb",
                  record);
}

}  // namespace
}  // namespace verbline::wire
