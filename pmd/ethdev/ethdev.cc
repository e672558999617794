// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/ethdev/ethdev.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <tuple>

#include <net/if.h>
#include <rte_bus.h>
#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_flow.h>
#include <rte_mbuf.h>

#include <fmt/format.h>

#include "pmd/base/numa.h"

namespace verbline::pmd {
namespace {

constexpr std::uint32_t max_tso = 65535;
constexpr std::uint16_t min_tso_segment = 256;  ///< i40e and iavf refuse smaller ones; no driver says so

/// A driver's limit of a chain's length, in mbufs; 0 is none.
std::uint16_t chain_limit(std::uint16_t said) {
    return said != 0 ? said : UINT16_MAX;
}

std::error_code error_of(int rc) {
    return {rc < 0 ? -rc : 0, std::generic_category()};
}

rte_ether_addr to_dpdk(const wire::MacAddress& mac) {
    rte_ether_addr address;
    std::memcpy(address.addr_bytes, mac.bytes.data(), sizeof(address.addr_bytes));
    return address;
}

std::unexpected<Error> failed(const std::string& name, const char* what, int rc) {
    return failure(-rc, fmt::format("device {}: {}: {}", name, what, rte_strerror(-rc)));
}

/// DPDK's bonding driver sends LACP's packets in bursts, at least one in 100 ms, which may be empty (DPDK, "Link
/// Bonding Poll Mode Driver Library", 4.1.2).
constexpr std::string_view bonding = "net_bonding";

/// Whether a flow always comes by the same receive queue: the driver spreads by a hash and a redirection table, or its
/// queues are those of the sender. Others, such as net_tap and virtio without RSS, let the flow follow the
/// queue by which it was last sent.
bool keeps_flows_together(const rte_eth_dev_info& info) {
    constexpr std::array<std::string_view, 4> fed{"net_af_packet", "net_af_xdp", "net_pcap", "net_ring"};
    if (info.reta_size > 0 && (RTE_ETH_RSS_IP & info.flow_type_rss_offloads) != 0) return true;
    return std::ranges::find(fed, std::string_view(info.driver_name)) != fed.end();
}

/// A virtual device reports the NUMA node of the thread that created it; the kernel interface behind it has its own.
int numa_socket_of(const rte_eth_dev_info& info) {
    if (info.device == nullptr) return any_numa_socket;
    if (std::string_view(rte_bus_name(rte_dev_bus(info.device))) != "vdev") return rte_dev_numa_node(info.device);
    std::array<char, IF_NAMESIZE> interface{};
    if (info.if_index == 0 || if_indextoname(info.if_index, interface.data()) == nullptr) return any_numa_socket;
    return numa_socket_of_interface(interface.data()).value_or(any_numa_socket);
}

}  // namespace

Result<std::unique_ptr<EthDevice>> EthDevice::create(const std::string& devargs, const PacketPools& pools,
                                                     const EthDeviceOptions& options) {
    auto port = EthdevPort::plug(devargs);
    if (!port) return std::unexpected(port.error());
    std::unique_ptr<EthDevice> device(new EthDevice(std::move(*port)));
    if (auto done = device->configure(pools, options); !done) return std::unexpected(done.error());
    return device;
}

Result<void> EthDevice::configure(const PacketPools& pools, const EthDeviceOptions& options) {
    rte_eth_dev_info info{};
    if (const int rc = rte_eth_dev_info_get(port_.id(), &info); rc != 0) return failed(port_.name(), "information", rc);
    const auto longest =
        std::min<std::uint32_t>(info.max_mtu, info.max_rx_pktlen - RTE_ETHER_HDR_LEN - RTE_ETHER_CRC_LEN);
    if (options.mtu > longest) {
        return failure(EINVAL, fmt::format("device {}: MTU {} is above its limit of {}", name(), options.mtu, longest));
    }
    const auto mtu = std::max(options.mtu, info.min_mtu);
    const int room = rte_pktmbuf_data_room_size(pools[0]) - RTE_PKTMBUF_HEADROOM;
    const bool scatter = mtu + RTE_ETHER_HDR_LEN + RTE_VLAN_HLEN > room;
    if (scatter && (info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_SCATTER) == 0) {
        return failure(EINVAL, fmt::format("device {}: MTU {} needs buffers larger than {} bytes", name(), mtu, room));
    }
    const std::uint16_t most = !keeps_flows_together(info) ? 1
                               : options.rx_queues == options.tx_queues
                                   ? std::min(info.max_rx_queues, info.max_tx_queues)
                                   : UINT16_MAX;
    capabilities_ = {.carries = Carries::ethernet,
                     .rx_queues = std::clamp<std::uint16_t>(options.rx_queues, 1, std::min(most, info.max_rx_queues)),
                     .tx_queues = std::clamp<std::uint16_t>(options.tx_queues, 1, std::min(most, info.max_tx_queues)),
                     .max_packet = mtu + std::uint32_t{RTE_ETHER_HDR_LEN},
                     .min_tso_segment = min_tso_segment,
                     .max_tso_segments = chain_limit(info.tx_desc_lim.nb_seg_max),
                     .max_segments = chain_limit(info.tx_desc_lim.nb_mtu_seg_max)};
    if (auto chosen = choose_offloads(info, options.offloads); !chosen) return chosen;
    if (scatter) capabilities_.rx_offloads |= RTE_ETH_RX_OFFLOAD_SCATTER;
    sends_between_bursts_ = std::string_view(info.driver_name) == bonding;
    lanes_ = std::vector<Lane>(capabilities_.tx_queues);
    numa_socket_ = numa_socket_of(info);

    rte_eth_conf configuration{};
    configuration.rxmode.mtu = mtu;
    configuration.rxmode.offloads = capabilities_.rx_offloads;
    configuration.txmode.offloads = capabilities_.tx_offloads;
    if (capabilities_.rx_queues > 1 && rss_types_ != 0) {
        configuration.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
        configuration.rx_adv_conf.rss_conf.rss_hf = rss_types_;
    }
    if (options.isolated)
        if (auto done = isolate(); !done) return done;
    const int rc = rte_eth_dev_configure(port_.id(), capabilities_.rx_queues, capabilities_.tx_queues, &configuration);
    if (rc != 0) return failed(port_.name(), "configuration", rc);
    return set_up_queues(pools, options.descriptors);
}

Result<void> EthDevice::choose_offloads(const rte_eth_dev_info& info, const OffloadChoice& choice) {
    const auto chosen =
        resolve(choice, {.rx = info.rx_offload_capa, .tx = info.tx_offload_capa, .rss = info.flow_type_rss_offloads});
    if (!chosen) return failure(chosen.error().code, fmt::format("device {} {}", name(), chosen.error().what));
    capabilities_.rx_offloads = chosen->rx, capabilities_.tx_offloads = chosen->tx;
    rss_types_ = chosen->rss;
    if ((chosen->tx & RTE_ETH_TX_OFFLOAD_TCP_TSO) != 0) capabilities_.max_tso = max_tso;
    must_prepare_ = (chosen->tx & ~std::uint64_t{RTE_ETH_TX_OFFLOAD_MULTI_SEGS}) != 0;
    return {};
}

/// Before the port is configured: drivers then set up less.
Result<void> EthDevice::isolate() {
    rte_flow_error error{};
    if (rte_flow_isolate(port_.id(), 1, &error) == 0) return {};
    return failure(EINVAL, fmt::format("device {} cannot leave to others what no rule names: {}", name(),
                                       error.message != nullptr ? error.message : rte_strerror(rte_errno)));
}

Result<void> EthDevice::set_up_queues(const PacketPools& pools, std::uint16_t descriptors) {
    auto rx = descriptors, tx = descriptors;
    const auto id = port_.id();
    const auto socket = static_cast<unsigned>(rte_eth_dev_socket_id(id));
    int rc = rte_eth_dev_adjust_nb_rx_tx_desc(id, &rx, &tx);
    if (rc != 0) return failed(port_.name(), "queue sizes", rc);
    for (std::uint16_t queue = 0; queue < capabilities_.rx_queues; ++queue) {
        rc = rte_eth_rx_queue_setup(id, queue, rx, socket, nullptr, pools[queue]);
        if (rc != 0) return failed(port_.name(), "receive queue", rc);
    }
    for (std::uint16_t queue = 0; queue < capabilities_.tx_queues; ++queue) {
        rc = rte_eth_tx_queue_setup(id, queue, tx, socket, nullptr);
        if (rc != 0) return failed(port_.name(), "transmit queue", rc);
    }
    rc = port_.start();
    if (rc != 0) return failed(port_.name(), "start", rc);
    (void)rte_eth_promiscuous_enable(id);  // a driver without it does not filter
    return {};
}

std::optional<wire::MacAddress> EthDevice::mac() const {
    rte_ether_addr address{};
    if (rte_eth_macaddr_get(port_.id(), &address) != 0) return std::nullopt;
    wire::MacAddress mac;
    std::memcpy(mac.bytes.data(), address.addr_bytes, mac.bytes.size());
    return mac;
}

std::optional<RssTable> EthDevice::rss() const {
    rte_eth_dev_info info{};
    if (capabilities_.rx_queues < 2 || rte_eth_dev_info_get(port_.id(), &info) != 0 || info.reta_size == 0) return {};
    RssTable table;
    table.key.resize(info.hash_key_size != 0 ? info.hash_key_size : 40);
    rte_eth_rss_conf hash{.rss_key = table.key.data(), .rss_key_len = static_cast<std::uint8_t>(table.key.size())};
    if (rte_eth_dev_rss_hash_conf_get(port_.id(), &hash) != 0) return {};
    table.udp_ports = (hash.rss_hf & RTE_ETH_RSS_UDP) != 0;

    std::vector<rte_eth_rss_reta_entry64> groups((info.reta_size + RTE_ETH_RETA_GROUP_SIZE - 1) /
                                                 RTE_ETH_RETA_GROUP_SIZE);
    for (auto& group : groups) group.mask = ~std::uint64_t{0};
    if (rte_eth_dev_rss_reta_query(port_.id(), groups.data(), info.reta_size) != 0) return {};
    for (std::size_t i = 0; i < info.reta_size; ++i) {
        table.queues.push_back(groups[i / RTE_ETH_RETA_GROUP_SIZE].reta[i % RTE_ETH_RETA_GROUP_SIZE]);
    }
    return table;
}

Result<void> EthDevice::up() {
    (void)rte_eth_dev_set_link_up(port_.id());  // few drivers implement it, and none needs it after start
    is_up_.store(true, std::memory_order_release);
    return {};
}

void EthDevice::down() {
    is_up_.store(false, std::memory_order_release);
    (void)rte_eth_dev_set_link_down(port_.id());
}

bool EthDevice::link_up() {
    rte_eth_link link{};
    const bool up = is_up_ && rte_eth_link_get_nowait(port_.id(), &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
    link_.store(up, std::memory_order_relaxed);
    return up;
}

std::uint16_t EthDevice::rx_burst(std::uint16_t queue, Burst burst) noexcept {
    if (!is_up_.load(std::memory_order_relaxed)) return 0;
    return rte_eth_rx_burst(port_.id(), queue, burst.data(), static_cast<std::uint16_t>(burst.size()));
}

std::uint16_t EthDevice::tx_burst(std::uint16_t queue, Burst burst) noexcept {
    if (burst.empty()) {  // some drivers look at the first packet first
        if (sends_between_bursts_ && is_up_.load(std::memory_order_relaxed))
            rte_eth_tx_burst(port_.id(), queue, nullptr, 0);
        return 0;
    }
    const bool open = is_up_.load(std::memory_order_relaxed);
    std::uint16_t sent = 0;
    if (open && must_prepare_) {
        sent = prepare_and_send(queue, burst);
    } else if (open) {
        sent = rte_eth_tx_burst(port_.id(), queue, burst.data(), static_cast<std::uint16_t>(burst.size()));
    }
    if (sent == burst.size() || (open && link_.load(std::memory_order_relaxed))) return sent;
    // A full ring empties; a dead link would only make the caller wait with stale packets.
    const auto rest = burst.subspan(sent);
    rte_pktmbuf_free_bulk(rest.data(), static_cast<unsigned>(rest.size()));
    lanes_[queue].counters.tx_dropped_link_down.add(rest.size());
    return static_cast<std::uint16_t>(burst.size());
}

std::uint16_t EthDevice::prepare_and_send(std::uint16_t queue, Burst burst) noexcept {
    std::size_t done = 0;
    while (done < burst.size()) {
        const auto rest = burst.subspan(done);
        const auto ready = rte_eth_tx_prepare(port_.id(), queue, rest.data(), static_cast<std::uint16_t>(rest.size()));
        const auto sent = rte_eth_tx_burst(port_.id(), queue, rest.data(), ready);
        done += sent;
        if (sent < ready) break;
        if (done == burst.size()) break;
        rte_pktmbuf_free(burst[done++]);  // the one at which preparing stopped
        lanes_[queue].counters.tx_dropped_offload.add();
    }
    return static_cast<std::uint16_t>(done);
}

std::error_code EthDevice::set_identity(const Identity& identity) {
    auto address = to_dpdk(identity.mac);
    if (const int rc = rte_eth_dev_default_mac_addr_set(port_.id(), &address); rc != 0) return error_of(rc);
    has_identity_ = true;
    std::ignore = filter();  // as far as the driver can; groups are attach_multicast's answer
    return {};
}

std::error_code EthDevice::attach_multicast(const MulticastAddress& group) {
    const auto address = to_dpdk(group.mac);
    const auto same = [&](const auto& other) { return rte_is_same_ether_addr(&other, &address) != 0; };
    if (std::ranges::none_of(groups_, same)) groups_.push_back(address);
    return filter();
}

std::error_code EthDevice::detach_multicast(const MulticastAddress& group) {
    const auto address = to_dpdk(group.mac);
    std::erase_if(groups_, [&](const auto& other) { return rte_is_same_ether_addr(&other, &address) != 0; });
    return filter();
}

std::error_code EthDevice::receive_all_multicast(bool all) {
    all_multicast_ = all;
    std::ignore = filter();  // a driver that cannot is promiscuous, or does not filter
    return {};
}

/// Narrows reception as far as the driver goes: own address and these groups; all groups; everything.
std::error_code EthDevice::filter() {
    const auto id = port_.id();
    const int groups = rte_eth_dev_set_mc_addr_list(id, groups_.data(), static_cast<std::uint32_t>(groups_.size()));
    const bool some = groups == 0 && !all_multicast_;
    const int all_groups = some ? rte_eth_allmulticast_disable(id) : rte_eth_allmulticast_enable(id);
    const bool groups_arrive = some || all_groups == 0;
    if (has_identity_ && groups_arrive) {
        (void)rte_eth_promiscuous_disable(id);
    } else {
        (void)rte_eth_promiscuous_enable(id);
    }
    return error_of(groups);
}

void EthDevice::counters(const CounterVisitor& visit) const {
    visit_sums(lanes_, visit, [](const Lane& lane) -> const EthDeviceCounters& { return lane.counters; });
    const int count = rte_eth_xstats_get_names(port_.id(), nullptr, 0);
    if (count <= 0) return;
    std::vector<rte_eth_xstat_name> names(static_cast<std::size_t>(count));
    std::vector<rte_eth_xstat> values(names.size());
    if (rte_eth_xstats_get_names(port_.id(), names.data(), static_cast<unsigned>(count)) != count ||
        rte_eth_xstats_get(port_.id(), values.data(), static_cast<unsigned>(count)) != count) {
        return;
    }
    for (const auto& [id, value] : values) visit(names[id].name, value, "counted by the driver");
}

}  // namespace verbline::pmd
