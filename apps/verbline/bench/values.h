// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Parses the values of options: rates, ranges of addresses and ports, lists of lcores.

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "datapath/traffic/frame_spec.h"
#include "datapath/traffic/pace.h"
#include "pmd/base/error.h"

namespace verbline::bench {

/// Part of the line's speed, 0 to 1, which only the open port knows.
struct LineShare {
    double part = 1;
    bool operator==(const LineShare&) const = default;
};
using AskedRate = std::variant<traffic::Rate, LineShare>;

/// 1.5Mpps, 200kpps, 10Gbps (bits of frames with their FCS), 50% (of the line, gaps included).
Result<AskedRate> parse_rate(std::string_view text);

/// One value, or FIRST-LAST; of addresses, both differ in the last four bytes at most. `option` is named by the error.
Result<traffic::Values<std::uint16_t>> parse_numbers(std::string_view option, std::string_view text,
                                                     std::uint16_t least, std::uint16_t most);
Result<traffic::Values<wire::MacAddress>> parse_macs(std::string_view option, std::string_view text);
Result<traffic::Values<wire::Ipv4Address>> parse_ipv4(std::string_view option, std::string_view text);
Result<traffic::Values<wire::Ipv6Address>> parse_ipv6(std::string_view option, std::string_view text);

/// Decimal or, with 0x, hexadecimal; not those of management and multicast (IBTA 3.5.10).
Result<traffic::Values<wire::Qpn>> parse_qpns(std::string_view option, std::string_view text);

/// 64,1500: numbers from `least` to `most`. `option` is named by the error.
Result<std::vector<std::uint32_t>> parse_list(std::string_view option, std::string_view text, std::uint32_t least,
                                              std::uint32_t most);

/// 1,3-5
Result<std::vector<unsigned>> parse_lcores(std::string_view text);

}  // namespace verbline::bench
