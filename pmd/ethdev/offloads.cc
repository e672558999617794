// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/ethdev/offloads.h"

#include <algorithm>
#include <cctype>

#include <rte_ethdev.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace verbline::pmd {
namespace {

/// Those of names that `all` does not mean: of use to measurements alone.
constexpr std::uint64_t nameable_rx = RTE_ETH_RX_OFFLOAD_RSS_HASH;

struct RssType {
    std::string_view name;
    std::uint64_t mask;
};
/// Groups come first: names of single types are looked for behind them.
constexpr RssType rss_groups[] = {{"all", RTE_ETH_RSS_PROTO_MASK}, {"ip", RTE_ETH_RSS_IP},
                                  {"tcp", RTE_ETH_RSS_TCP},        {"udp", RTE_ETH_RSS_UDP},
                                  {"sctp", RTE_ETH_RSS_SCTP},      {"tunnel", RTE_ETH_RSS_TUNNEL}};
constexpr RssType rss_types[] = {
    {"ipv4", RTE_ETH_RSS_IPV4},
    {"ipv4-frag", RTE_ETH_RSS_FRAG_IPV4},
    {"ipv4-tcp", RTE_ETH_RSS_NONFRAG_IPV4_TCP},
    {"ipv4-udp", RTE_ETH_RSS_NONFRAG_IPV4_UDP},
    {"ipv4-sctp", RTE_ETH_RSS_NONFRAG_IPV4_SCTP},
    {"ipv4-other", RTE_ETH_RSS_NONFRAG_IPV4_OTHER},
    {"ipv6", RTE_ETH_RSS_IPV6},
    {"ipv6-frag", RTE_ETH_RSS_FRAG_IPV6},
    {"ipv6-tcp", RTE_ETH_RSS_NONFRAG_IPV6_TCP},
    {"ipv6-udp", RTE_ETH_RSS_NONFRAG_IPV6_UDP},
    {"ipv6-sctp", RTE_ETH_RSS_NONFRAG_IPV6_SCTP},
    {"ipv6-other", RTE_ETH_RSS_NONFRAG_IPV6_OTHER},
    {"ipv6-ex", RTE_ETH_RSS_IPV6_EX},
    {"ipv6-tcp-ex", RTE_ETH_RSS_IPV6_TCP_EX},
    {"ipv6-udp-ex", RTE_ETH_RSS_IPV6_UDP_EX},
    {"l2-payload", RTE_ETH_RSS_L2_PAYLOAD},
    {"eth", RTE_ETH_RSS_ETH},
    {"s-vlan", RTE_ETH_RSS_S_VLAN},
    {"c-vlan", RTE_ETH_RSS_C_VLAN},
    {"vxlan", RTE_ETH_RSS_VXLAN},
    {"geneve", RTE_ETH_RSS_GENEVE},
    {"nvgre", RTE_ETH_RSS_NVGRE},
    {"l2-src-only", RTE_ETH_RSS_L2_SRC_ONLY},
    {"l2-dst-only", RTE_ETH_RSS_L2_DST_ONLY},
    {"l3-src-only", RTE_ETH_RSS_L3_SRC_ONLY},
    {"l3-dst-only", RTE_ETH_RSS_L3_DST_ONLY},
    {"l4-src-only", RTE_ETH_RSS_L4_SRC_ONLY},
    {"l4-dst-only", RTE_ETH_RSS_L4_DST_ONLY},
#ifdef RTE_ETH_RSS_IB_BTH  // from DPDK 23.11 on
    {"ib-bth", RTE_ETH_RSS_IB_BTH},
#endif
};

/// DPDK's name, as ours are: IPV4_CKSUM is ipv4-cksum.
std::string hyphenated(std::string_view name) {
    std::string out(name);
    for (auto& letter : out)
        letter = letter == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    return out;
}

std::vector<std::string> names(std::uint64_t mask, const char* (*name_of)(std::uint64_t)) {
    std::vector<std::string> all;
    for (; mask != 0; mask &= mask - 1) all.push_back(hyphenated(name_of(mask & -mask)));
    return all;
}

/// The bit of that name in the mask; 0: there is none.
std::uint64_t bit_of(std::string_view name, std::uint64_t mask, const char* (*name_of)(std::uint64_t)) {
    for (; mask != 0; mask &= mask - 1)
        if (hyphenated(name_of(mask & -mask)) == name) return mask & -mask;
    return 0;
}

Offloads offload_of(std::string_view name) {
    const bool rx_alone = name.starts_with("rx-"), tx_alone = name.starts_with("tx-");
    if (rx_alone || tx_alone) name.remove_prefix(3);
    Offloads found;
    if (!tx_alone) found.rx = bit_of(name, usable_offloads.rx | nameable_rx, rte_eth_dev_rx_offload_name);
    if (!rx_alone) found.tx = bit_of(name, usable_offloads.tx, rte_eth_dev_tx_offload_name);
    return found;
}

/// In the order of bits, each name once.
std::vector<std::string> known_offloads() {
    auto all = tx_offload_names(usable_offloads.tx);
    for (auto& name : rx_offload_names(usable_offloads.rx | nameable_rx))
        if (std::ranges::find(all, name) == all.end()) all.push_back(std::move(name));
    return all;
}

Offloads rss_type_of(std::string_view name) {
    for (const auto& [known, mask] : rss_groups)
        if (known == name) return {.rss = mask};
    for (const auto& [known, mask] : rss_types)
        if (known == name) return {.rss = mask};
    return {};
}

Error unknown_rss_type(std::string_view name) {
    std::vector<std::string_view> known;
    for (const auto& type : rss_groups) known.push_back(type.name);
    for (const auto& type : rss_types) known.push_back(type.name);
    return {EINVAL, fmt::format("{} is no RSS type; there are {}", name, fmt::join(known, ", "))};
}

/// Calls `take` with each of the names between commas, until one fails.
Result<void> each_name(std::string_view text, auto&& take) {
    for (;;) {
        const auto name = text.substr(0, text.find(','));
        if (auto good = take(name); !good) return good;
        if (name.size() == text.size()) return {};
        text.remove_prefix(name.size() + 1);
    }
}

bool meet(const Offloads& a, const Offloads& b) {
    return (a.rx & b.rx) != 0 || (a.tx & b.tx) != 0 || (a.rss & b.rss) != 0;
}

std::string list(const std::vector<std::string>& names) {
    return names.empty() ? "nothing" : fmt::format("{}", fmt::join(names, ", "));
}

Error lacking(const NamedOffload& named, const Offloads& driver) {
    if (named.offloads.rss != 0)
        return {EINVAL, fmt::format("does not hash {}; it hashes {}", named.name, list(rss_type_names(driver.rss)))};
    return {EINVAL, fmt::format("has no offload {}; it has rx: {}; tx: {}", named.name,
                                list(rx_offload_names(driver.rx & (usable_offloads.rx | nameable_rx))),
                                list(tx_offload_names(driver.tx & usable_offloads.tx)))};
}

}  // namespace

const Offloads usable_offloads{
    .rx = RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_TCP_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM,
    .tx = RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM |
          RTE_ETH_TX_OFFLOAD_TCP_TSO | RTE_ETH_TX_OFFLOAD_MULTI_SEGS | RTE_ETH_TX_OFFLOAD_VXLAN_TNL_TSO |
          RTE_ETH_TX_OFFLOAD_GENEVE_TNL_TSO | RTE_ETH_TX_OFFLOAD_GRE_TNL_TSO | RTE_ETH_TX_OFFLOAD_IPIP_TNL_TSO |
          RTE_ETH_TX_OFFLOAD_OUTER_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_OUTER_UDP_CKSUM,
    .rss = RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP};

Result<OffloadChoice> parse_offloads(std::string_view text) {
    if (text == "all") return OffloadChoice();
    auto choice = OffloadChoice::none();
    if (text == "none") return choice;
    auto good = each_name(text, [&](std::string_view name) -> Result<void> {
        const auto found = offload_of(name);
        if (found == Offloads())
            return failure(EINVAL, fmt::format("{} is no offload; there are all, none, {}; rx- or tx- in front means "
                                               "one direction",
                                               name, fmt::join(known_offloads(), ", ")));
        choice.named.push_back({std::string(name), found});
        return {};
    });
    if (!good) return std::unexpected(good.error());
    return choice;
}

Result<void> choose_rss_types(std::string_view text, OffloadChoice& choice) {
    choice.if_there.rss = 0;
    return each_name(text, [&](std::string_view name) -> Result<void> {
        const auto found = rss_type_of(name);
        if (found.rss == 0) return std::unexpected(unknown_rss_type(name));
        choice.named.push_back({std::string(name), found});
        return {};
    });
}

Result<Offloads> resolve(const OffloadChoice& choice, const Offloads& driver) {
    auto wanted = choice.if_there;
    for (const auto& named : choice.named) {
        if (!meet(named.offloads, driver)) return std::unexpected(lacking(named, driver));
        wanted.rx |= named.offloads.rx, wanted.tx |= named.offloads.tx, wanted.rss |= named.offloads.rss;
    }
    return Offloads{.rx = wanted.rx & driver.rx, .tx = wanted.tx & driver.tx, .rss = wanted.rss & driver.rss};
}

std::vector<std::string> rx_offload_names(std::uint64_t mask) {
    return names(mask, rte_eth_dev_rx_offload_name);
}
std::vector<std::string> tx_offload_names(std::uint64_t mask) {
    return names(mask, rte_eth_dev_tx_offload_name);
}
std::vector<std::string> rss_type_names(std::uint64_t mask) {
    std::vector<std::string> all;
    for (const auto& [name, type] : rss_types)
        if ((mask & type) != 0) all.emplace_back(name);
    return all;
}

}  // namespace verbline::pmd
