// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// IPv6 addresses and prefixes of tests, from text that is one.

#include <string_view>

#include "datapath/wire/text.h"
#include "datapath/wire/types.h"

namespace verbline::test {

inline wire::Ipv6Address ipv6(std::string_view text) {
    return *wire::from_string<wire::Ipv6Address>(text);
}
inline wire::Ipv6Prefix ipv6_prefix(std::string_view text) {
    return *wire::from_string<wire::Ipv6Prefix>(text);
}

}  // namespace verbline::test
