// SPDX-License-Identifier: BSD-3-Clause
#include "apps/net_ipoib/ethdev_ops.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include <rte_alarm.h>

#include <fmt/format.h>

namespace verbline::net_ipoib {
namespace {

constexpr std::uint64_t receive_offloads = RTE_ETH_RX_OFFLOAD_CHECKSUM | RTE_ETH_RX_OFFLOAD_SCATTER;
constexpr std::uint64_t transmit_offloads = RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM |
                                            RTE_ETH_TX_OFFLOAD_TCP_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_TSO |
                                            RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
constexpr std::uint8_t key_size = std::tuple_size_v<link::FrameFlowHash::Key>;
constexpr std::uint16_t most_descriptors = 4'096;
/// What the hash tells flows by, always all of it (datapath/link/flow_hash.h): ports of TCP and UDP, else addresses.
constexpr std::uint64_t flow_types = RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_FRAG_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_TCP |
                                     RTE_ETH_RSS_NONFRAG_IPV4_UDP | RTE_ETH_RSS_NONFRAG_IPV4_OTHER | RTE_ETH_RSS_IPV6 |
                                     RTE_ETH_RSS_FRAG_IPV6 | RTE_ETH_RSS_NONFRAG_IPV6_TCP |
                                     RTE_ETH_RSS_NONFRAG_IPV6_UDP | RTE_ETH_RSS_NONFRAG_IPV6_OTHER;

EthdevPort& own(const rte_eth_dev* dev) {
    return **static_cast<EthdevPort**>(dev->data->dev_private);
}

wire::MacAddress mac_of(const rte_ether_addr& address) {
    wire::MacAddress mac;
    std::memcpy(mac.bytes.data(), address.addr_bytes, mac.bytes.size());
    return mac;
}

// bursts

std::uint16_t receive_burst(void* queue, rte_mbuf** packets, std::uint16_t count) {
    return static_cast<ReceiveQueue*>(queue)->end->receive(std::span(packets, count));
}

std::uint16_t transmit_burst(void* queue, rte_mbuf** packets, std::uint16_t count) {
    return static_cast<TransmitQueue*>(queue)->end->transmit(std::span(packets, count));
}

// configuration

int configure(rte_eth_dev* dev) {
    const auto& rss = dev->data->dev_conf.rx_adv_conf.rss_conf;
    if (rss.rss_key == nullptr || rss.rss_key_len == 0 || rss.rss_key_len == key_size) return 0;
    log_line(RTE_LOG_ERR, dev->data->name, fmt::format("an RSS key of {} bytes: it has {}", rss.rss_key_len, key_size));
    return -EINVAL;
}

int set_up_receive_queue(rte_eth_dev* dev, std::uint16_t id, std::uint16_t, unsigned, const rte_eth_rxconf*,
                         rte_mempool* pool) {
    auto& queues = own(dev).receive;
    if (queues.size() <= id) queues.resize(id + 1u);
    queues[id] = std::make_unique<ReceiveQueue>(ReceiveQueue{.pool = pool});
    dev->data->rx_queues[id] = queues[id].get();
    return 0;
}

int set_up_transmit_queue(rte_eth_dev* dev, std::uint16_t id, std::uint16_t, unsigned, const rte_eth_txconf*) {
    auto& queues = own(dev).transmit;
    if (queues.size() <= id) queues.resize(id + 1u);
    queues[id] = std::make_unique<TransmitQueue>();
    dev->data->tx_queues[id] = queues[id].get();
    return 0;
}

void release_receive_queue(rte_eth_dev* dev, std::uint16_t id) {
    if (id < own(dev).receive.size()) own(dev).receive[id].reset();
    dev->data->rx_queues[id] = nullptr;
}

void release_transmit_queue(rte_eth_dev* dev, std::uint16_t id) {
    if (id < own(dev).transmit.size()) own(dev).transmit[id].reset();
    dev->data->tx_queues[id] = nullptr;
}

int infos_get(rte_eth_dev* dev, rte_eth_dev_info* info) {
    const auto& port = *own(dev).port;
    info->max_rx_queues = info->max_tx_queues = most_queues;
    info->flow_type_rss_offloads = flow_types;
    info->hash_key_size = key_size;
    info->reta_size = redirection_entries;
    info->max_mac_addrs = 1;
    info->min_mtu = RTE_ETHER_MIN_MTU;
    info->max_mtu = static_cast<std::uint16_t>(port.max_mtu());
    info->max_rx_pktlen = port.max_mtu() + RTE_ETHER_HDR_LEN;
    info->min_rx_bufsize = 0;
    info->rx_offload_capa = receive_offloads;
    info->tx_offload_capa = transmit_offloads;
    info->rx_desc_lim = {.nb_max = most_descriptors, .nb_min = 1, .nb_align = 1, .nb_seg_max = 0, .nb_mtu_seg_max = 0};
    info->tx_desc_lim = info->rx_desc_lim;
    info->tx_desc_lim.nb_seg_max = info->tx_desc_lim.nb_mtu_seg_max = UINT16_MAX;
    info->speed_capa = RTE_ETH_LINK_SPEED_AUTONEG;
    info->default_rxportconf = {.burst_size = 32, .ring_size = 1024, .nb_queues = 1};
    info->default_txportconf = info->default_rxportconf;
    return 0;
}

const std::uint32_t* supported_ptypes(rte_eth_dev*) {
    static const std::uint32_t types[] = {RTE_PTYPE_L2_ETHER, RTE_PTYPE_L3_IPV4_EXT_UNKNOWN,
                                          RTE_PTYPE_L3_IPV6_EXT_UNKNOWN, RTE_PTYPE_UNKNOWN};
    return types;
}

// link

void set_link_status(rte_eth_dev* dev) {
    rte_eth_link link{};
    link.link_speed = RTE_ETH_SPEED_NUM_UNKNOWN;
    link.link_duplex = RTE_ETH_LINK_FULL_DUPLEX;
    link.link_autoneg = RTE_ETH_LINK_AUTONEG;
    link.link_status = own(dev).port->link_up() ? RTE_ETH_LINK_UP : RTE_ETH_LINK_DOWN;
    rte_eth_linkstatus_set(dev, &link);
}

int link_update(rte_eth_dev* dev, int) {
    set_link_status(dev);
    return 0;
}

/// On DPDK's interrupt thread, as events of hardware are: the program may do to ports in it what it likes, which waits
/// for the control thread of the port, and of others (net_bonding sets the MAC addresses of all).
void announce_link(void* dev) {
    rte_eth_dev_callback_process(static_cast<rte_eth_dev*>(dev), RTE_ETH_EVENT_INTR_LSC, nullptr);
}

/// By the control thread.
void link_changed(rte_eth_dev* dev) {
    set_link_status(dev);
    if (dev->data->dev_conf.intr_conf.lsc == 0 || rte_eal_alarm_set(1, announce_link, dev) == 0) return;
    log_line(RTE_LOG_ERR, dev->data->name, "the program is not told that its link has changed: no memory for an alarm");
}

// spreading over receive queues

std::optional<link::FrameFlowHash::Key> key_of(const rte_eth_rss_conf& rss) {
    link::FrameFlowHash::Key key;
    if (rss.rss_key == nullptr || rss.rss_key_len != key.size()) return std::nullopt;
    std::copy_n(rss.rss_key, key.size(), key.begin());
    return key;
}

int rss_hash_conf_get(rte_eth_dev* dev, rte_eth_rss_conf* rss) {
    const auto table = own(dev).port->spread();
    rss->rss_hf = table ? flow_types : 0;
    if (!table || rss->rss_key == nullptr) return 0;
    const auto size = std::min<std::size_t>(rss->rss_key_len, table->key.size());
    std::copy_n(table->key.begin(), size, rss->rss_key);
    rss->rss_key_len = static_cast<std::uint8_t>(size);
    return 0;
}

/// Calls `each(entry, queue)` for the entries of the table that the program names.
template <class Each>
void for_each_entry(rte_eth_rss_reta_entry64* groups, std::uint16_t size, Each each) {
    for (std::uint16_t i = 0; i < size; ++i) {
        auto& group = groups[i / RTE_ETH_RETA_GROUP_SIZE];
        const auto at = i % RTE_ETH_RETA_GROUP_SIZE;
        if ((group.mask >> at & 1) != 0) each(i, group.reta[at]);
    }
}

int reta_query(rte_eth_dev* dev, rte_eth_rss_reta_entry64* groups, std::uint16_t size) {
    const auto table = own(dev).port->spread();
    if (!table) return -ENOTSUP;
    if (size != table->queues.size()) return -EINVAL;
    for_each_entry(groups, size, [&](std::uint16_t entry, std::uint16_t& queue) { queue = table->queues[entry]; });
    return 0;
}

int reta_update(rte_eth_dev* dev, rte_eth_rss_reta_entry64* groups, std::uint16_t size) {
    auto& port = *own(dev).port;
    auto table = port.spread();
    if (!table) return -ENOTSUP;
    if (size != table->queues.size()) return -EINVAL;
    for_each_entry(groups, size, [&](std::uint16_t entry, std::uint16_t queue) { table->queues[entry] = queue; });
    const auto changed = port.redirect(std::move(table->queues));
    return changed ? 0 : -changed.error().code;
}

// start and stop

Statistics::Values values_of(const EthdevPort& port, bool all) {
    Statistics::Values values;
    port.port->counters(Statistics::reader(values), all);
    return values;
}

int start(rte_eth_dev* dev) {
    auto& self = own(dev);
    const auto& data = *dev->data;
    Port::Setup setup{.number = data.port_id,
                      .receive = {},
                      .transmit = data.nb_tx_queues,
                      .checksums = (data.dev_conf.rxmode.offloads & RTE_ETH_RX_OFFLOAD_CHECKSUM) != 0,
                      .chains = (data.dev_conf.rxmode.offloads & RTE_ETH_RX_OFFLOAD_SCATTER) != 0,
                      .spread = (data.dev_conf.rxmode.mq_mode & RTE_ETH_MQ_RX_RSS_FLAG) != 0,
                      .key = key_of(data.dev_conf.rx_adv_conf.rss_conf),
                      .mtu = data.mtu,
                      .link_changed = [dev] { link_changed(dev); }};
    for (std::size_t i = 0; i < data.nb_rx_queues; ++i) setup.receive.push_back(self.receive[i]->pool);
    if (setup.receive.empty() || setup.transmit == 0) {
        log_line(RTE_LOG_ERR, data.name, "a port needs a receive and a transmit queue");
        return -EINVAL;
    }
    if (const auto started = self.port->start(setup); !started) {
        log_line(RTE_LOG_ERR, data.name, started.error().what);
        return -started.error().code;
    }
    for (std::size_t i = 0; i < data.nb_rx_queues; ++i) self.receive[i]->end = self.port->receiver(i);
    for (std::size_t i = 0; i < data.nb_tx_queues; ++i) self.transmit[i]->end = self.port->transmitter(i);
    self.started = true;
    return 0;
}

int stop(rte_eth_dev* dev) {
    auto& self = own(dev);
    if (!std::exchange(self.started, false)) return 0;
    self.statistics.keep(values_of(self, true));
    self.port->stop();
    rte_eal_alarm_cancel(announce_link, dev);
    set_link_status(dev);
    return 0;
}

int close(rte_eth_dev* dev) {
    auto** const held = static_cast<EthdevPort**>(dev->data->dev_private);
    if (held == nullptr || *held == nullptr) return 0;
    stop(dev);
    dev->data->mac_addrs = nullptr;  // ours, not of rte_malloc
    delete std::exchange(*held, nullptr);
    return 0;
}

// addresses

int set_mac(rte_eth_dev* dev, rte_ether_addr* address) {
    own(dev).port->set_mac(mac_of(*address));
    return 0;
}

int set_mtu(rte_eth_dev* dev, std::uint16_t mtu) {
    auto& port = *own(dev).port;
    if (mtu > port.max_mtu()) {  // newer DPDK than this may not have compared
        log_line(RTE_LOG_ERR, dev->data->name,
                 fmt::format("MTU {} is above {}: IPoIB carries a packet in one datagram of the link, less 4 bytes "
                             "(mtu= allows 4092 where the subnet does)",
                             mtu, port.max_mtu()));
        return -EINVAL;
    }
    port.set_mtu(mtu);
    return 0;
}

/// Every frame that reaches the port is to it: IPoIB has no other hosts' packets to show.
int set_promiscuous(rte_eth_dev*) {
    return -ENOTSUP;
}

int enable_all_multicast(rte_eth_dev* dev) {
    own(dev).port->receive_all_groups(true);
    return 0;
}
int disable_all_multicast(rte_eth_dev* dev) {
    own(dev).port->receive_all_groups(false);
    return 0;
}

int set_multicast_list(rte_eth_dev* dev, rte_ether_addr* list, std::uint32_t count) {
    std::vector<wire::MacAddress> groups;
    for (const auto& address : std::span(list, count)) groups.push_back(mac_of(address));
    own(dev).port->set_groups(std::move(groups));
    return 0;
}

// statistics

int stats_get(rte_eth_dev* dev, rte_eth_stats* stats) {
    const auto& self = own(dev);
    const auto values = self.statistics.since_reset(values_of(self, false));
    const auto totals = totals_of(values);
    stats->ipackets = totals.rx_frames;
    stats->ibytes = totals.rx_bytes;
    stats->ierrors = totals.rx_errors;
    stats->rx_nombuf = totals.rx_no_buffer;
    stats->opackets = totals.tx_frames;
    stats->obytes = totals.tx_bytes;
    stats->oerrors = totals.tx_errors;
    for (std::size_t i = 0; i < RTE_ETHDEV_QUEUE_STAT_CNTRS; ++i) {
        const auto of = [&](std::string_view direction, std::string_view what) {
            const auto found = values.find(fmt::format("{}_q{}_{}", direction, i, what));
            return found != values.end() ? found->second : 0;
        };
        stats->q_ipackets[i] = of("rx", "packets");
        stats->q_ibytes[i] = of("rx", "bytes");
        stats->q_opackets[i] = of("tx", "packets");
        stats->q_obytes[i] = of("tx", "bytes");
    }
    return 0;
}

int stats_reset(rte_eth_dev* dev) {
    auto& self = own(dev);
    self.statistics.reset(values_of(self, true));
    return 0;
}

int xstats_get(rte_eth_dev* dev, rte_eth_xstat* stats, unsigned count) {
    const auto& self = own(dev);
    const auto values = self.statistics.since_reset(values_of(self, true));
    if (stats == nullptr || count < values.size()) return static_cast<int>(values.size());
    std::uint64_t id = 0;
    for (const auto& [name, value] : values) {
        stats[id].id = id;
        stats[id++].value = value;
    }
    return static_cast<int>(values.size());
}

int xstats_get_names(rte_eth_dev* dev, rte_eth_xstat_name* names, unsigned count) {
    const auto& self = own(dev);
    const auto values = self.statistics.since_reset(values_of(self, true));
    if (names == nullptr || count < values.size()) return static_cast<int>(values.size());
    for (const auto& [name, value] : values) {
        const auto end = fmt::format_to_n(names->name, sizeof names->name - 1, "{}", name);
        *end.out = '\0';
        ++names;
    }
    return static_cast<int>(values.size());
}

eth_dev_ops make_operations() {
    eth_dev_ops ops{};
    ops.dev_configure = configure;
    ops.dev_start = start;
    ops.dev_stop = stop;
    ops.dev_close = close;
    ops.dev_infos_get = infos_get;
    ops.dev_supported_ptypes_get = supported_ptypes;
    ops.link_update = link_update;
    ops.rx_queue_setup = set_up_receive_queue;
    ops.tx_queue_setup = set_up_transmit_queue;
    ops.rx_queue_release = release_receive_queue;
    ops.tx_queue_release = release_transmit_queue;
    ops.mac_addr_set = set_mac;
    ops.mtu_set = set_mtu;
    ops.promiscuous_enable = set_promiscuous;
    ops.promiscuous_disable = set_promiscuous;
    ops.allmulticast_enable = enable_all_multicast;
    ops.allmulticast_disable = disable_all_multicast;
    ops.set_mc_addr_list = set_multicast_list;
    ops.rss_hash_conf_get = rss_hash_conf_get;
    ops.reta_query = reta_query;
    ops.reta_update = reta_update;
    ops.stats_get = stats_get;
    ops.stats_reset = stats_reset;
    ops.xstats_get = xstats_get;
    ops.xstats_get_names = xstats_get_names;
    ops.xstats_reset = stats_reset;
    return ops;
}

}  // namespace

void set_operations(rte_eth_dev& dev) {
    static const eth_dev_ops operations = make_operations();
    dev.dev_ops = &operations;
    dev.rx_pkt_burst = receive_burst;
    dev.tx_pkt_burst = transmit_burst;
}

}  // namespace verbline::net_ipoib
