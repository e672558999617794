// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Ethernet frames and addresses for tests of what forwards them.

#include <cstring>

#include "datapath/wire/types.h"
#include "tests/support/packet.h"

namespace verbline::test {

/// Locally administered, unless `first` says otherwise.
constexpr wire::MacAddress mac(unsigned last, unsigned first = 2) {
    return {{static_cast<std::byte>(first), {}, {}, {}, {}, static_cast<std::byte>(last)}};
}

/// 100 bytes; equal marks make equal payloads.
inline test::ByteVector frame(const wire::MacAddress& to, const wire::MacAddress& from, unsigned mark = 0) {
    auto bytes = test::pattern(100, mark);
    std::memcpy(bytes.data(), to.bytes.data(), 6);
    std::memcpy(bytes.data() + 6, from.bytes.data(), 6);
    return bytes;
}

}  // namespace verbline::test
