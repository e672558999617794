// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/port/port_counters.h"

#include <algorithm>
#include <string_view>

#include "pmd/base/counter.h"

namespace verbline::verbs {
namespace {

constexpr std::uint64_t data_unit = 4;  // bytes: PortXmitData and PortRcvData count words of 32 bits

/// Damaged frames: PortRcvErrors (IBTA volume 1, 16.1.3.5) are of the link, not of what a queue pair did not want.
bool is_receive_error(std::string_view name) {
    constexpr std::string_view damage[] = {"rx_dropped_truncated", "rx_dropped_length",      "rx_dropped_lrh",
                                           "rx_dropped_vcrc",      "rx_dropped_icrc",        "rx_dropped_bth",
                                           "rx_dropped_grh",       "rx_dropped_ip_checksum", "rx_dropped_ip_version"};
    return std::ranges::find(damage, name) != std::end(damage);
}

}  // namespace

std::uint64_t PortCounters::of(std::string_view name) const {
    const auto found =
        std::ranges::find(counters, name, [](const auto& each) -> std::string_view { return each.first; });
    return found != counters.end() ? found->second : 0;
}

PortCounters port_counters(const rdma::Device& device, const pmd::NetDevice& link, std::uint64_t downs) {
    PortCounters out;
    std::uint64_t sent = 0, sent_bytes = 0, received = 0, received_bytes = 0, errors = 0, discards = 0;
    device.counters([&](std::string_view name, std::uint64_t value, std::string_view) {
        if (name == "tx_packets") sent = value;
        if (name == "tx_bytes") sent_bytes = value;
        if (name == "rx_packets") received = value;
        if (name == "rx_bytes") received_bytes = value;
        if (is_receive_error(name)) errors += value;
        out.hw_counters.emplace_back(name, value);
    });
    link.counters([&](std::string_view name, std::uint64_t value, std::string_view) {
        if (name.starts_with("tx_dropped")) discards += value;
    });
    out.counters = {{"port_xmit_data", sent_bytes / data_unit},
                    {"port_rcv_data", received_bytes / data_unit},
                    {"port_xmit_packets", sent},
                    {"port_rcv_packets", received},
                    {"port_rcv_errors", errors},
                    {"port_xmit_discards", discards},
                    {"link_downed", downs}};
    return out;
}

}  // namespace verbline::verbs
