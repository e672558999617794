// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What `verbline bench ipoib` is to do: its options, parsed, before any device is open.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/verbline/bench/port_choice.h"
#include "datapath/link/envelope.h"
#include "pmd/base/error.h"
#include "pmd/base/time.h"
#include "pmd/factory/device_spec.h"
#include "pmd/netdev.h"

namespace verbline::ipoib_bench {

constexpr std::uint32_t smallest_packet = 28;     ///< IPv4 and UDP headers
constexpr std::uint32_t largest_packet = 0xffff;  ///< by IPv4's length field
/// Of the IP MTU: the largest packet then becomes fewer frames than a link stages, and a frame fits one buffer.
constexpr std::uint32_t least_mtu = 576, most_mtu = 9000;
constexpr std::size_t most_burst = pmd::max_burst;
constexpr unsigned most_rounds = 1000;

/// As typed. The defaults are those of the command.
struct IpoibTexts {
    std::vector<std::string> devices;
    std::string sizes = "64,576,1500,65535", carriers = "soft_ib,roce2", lcores;
    std::uint32_t mtu = 1500;
    std::uint16_t burst = 32;
    unsigned rounds = 7;
    double seconds = 10;
    bench::PortTexts ports;
};

/// IPoIB on a carrier; nullopt: Ethernet.
using LinkKind = std::optional<link::Carrier>;
/// As in `--carrier` and in what is printed.
std::string_view name_of(LinkKind kind);

/// What is sent again and again, once over each link and round.
struct Case {
    std::uint32_t size = 0;  ///< of the IP packet, bytes
    bool requests = false;   ///< it asks for checksums, and for segmentation if it is larger than the MTU; else it is
                             ///< complete, or several that are

    bool operator==(const Case&) const = default;
};

struct IpoibPlan {
    std::vector<pmd::DeviceSpec> devices;  ///< the sender's and the receiver's, or one for both
    std::vector<std::string> device_texts;
    std::vector<LinkKind> links;  ///< Ethernet, then IPoIB on each carrier
    std::vector<Case> cases;
    std::uint16_t mtu = 0;    ///< of IP, on every link, bytes
    std::uint16_t burst = 0;  ///< packets of at most the MTU given to a link at a time
    unsigned rounds = 0;
    Time slice = 0;                ///< of one case over one link in one round
    std::vector<unsigned> lcores;  ///< empty: the first that the EAL has
    bench::PortChoice ports;

    bool large(const Case& one) const { return one.size > mtu; }
};

/// EINVAL: one line that names the option.
Result<IpoibPlan> make_plan(const IpoibTexts& texts);

}  // namespace verbline::ipoib_bench
