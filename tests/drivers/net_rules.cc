// SPDX-License-Identifier: BSD-3-Clause
// A port of DPDK for tests: what is sent comes back by the receive queue that rules of the port name (rte_flow), else
// by the first; of an isolated port by none. `--vdev net_rules0,rss=0`: it takes no rule that spreads. Rules match
// Ethernet, the version of IP and UDP's destination port, as drivers of 2022 do; packets are without VLAN, options and
// extension headers.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <rte_flow_driver.h>
#include <rte_ip.h>
#include <rte_udp.h>

/// A rule: the type is DPDK's, what is in it the driver's.
struct rte_flow {
    bool ipv6 = false;
    rte_be16_t port = 0, port_mask = 0;
    std::vector<std::uint16_t> queues;
};

#include "tests/drivers/vdev.h"

namespace {

constexpr std::uint16_t most_queues = 8;

struct Port {
    bool spreads = true, isolated = false;
    rte_ether_addr mac{{2, 0, 0, 0, 0x5e, 0x1e}};
    std::mutex mutex;
    std::list<rte_flow> rules;
    std::array<std::deque<rte_mbuf*>, most_queues> queues;
    std::uint64_t sent = 0, received = 0, unwanted = 0;
};
struct Queue {
    Port* port = nullptr;
    std::uint16_t number = 0;
};

Port& port_of(const rte_eth_dev* dev) {
    return verbline::test::port_of<Port>(dev);
}

/// -1: by none.
int queue_of(const Port& port, const rte_mbuf* frame) {
    const auto* const ethernet = rte_pktmbuf_mtod(frame, const rte_ether_hdr*);
    const bool ipv6 = ethernet->ether_type == rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV6);
    const auto* const ip = reinterpret_cast<const std::byte*>(ethernet + 1);
    const auto protocol = static_cast<std::uint8_t>(ip[ipv6 ? 6 : 9]);
    rte_udp_hdr udp{};
    std::memcpy(&udp, ip + (ipv6 ? sizeof(rte_ipv6_hdr) : sizeof(rte_ipv4_hdr)), sizeof udp);
    for (const auto& rule : port.rules) {
        if (rule.ipv6 != ipv6 || protocol != IPPROTO_UDP || (udp.dst_port & rule.port_mask) != rule.port) continue;
        return rule.queues[rte_be_to_cpu_16(udp.src_port) % rule.queues.size()];
    }
    return port.isolated ? -1 : 0;
}

std::uint16_t transmit(void* queue, rte_mbuf** frames, std::uint16_t count) {
    auto& port = *static_cast<Queue*>(queue)->port;
    const std::scoped_lock lock(port.mutex);
    for (std::uint16_t i = 0; i < count; ++i) {
        const int to = queue_of(port, frames[i]);
        if (to < 0 || port.queues[static_cast<std::size_t>(to)].size() >= 1024) {
            rte_pktmbuf_free(frames[i]);
            ++port.unwanted;
        } else {
            port.queues[static_cast<std::size_t>(to)].push_back(frames[i]);
        }
    }
    port.sent += count;
    return count;
}

std::uint16_t receive(void* queue, rte_mbuf** frames, std::uint16_t count) {
    auto& [port, number] = *static_cast<Queue*>(queue);
    const std::scoped_lock lock(port->mutex);
    auto& waiting = port->queues[number];
    const auto given = static_cast<std::uint16_t>(std::min<std::size_t>(count, waiting.size()));
    std::copy_n(waiting.begin(), given, frames);
    waiting.erase(waiting.begin(), waiting.begin() + given);
    port->received += given;
    return given;
}

// rules

int refuse(rte_flow_error* error, rte_flow_error_type type, const char* why) {
    return rte_flow_error_set(error, ENOTSUP, type, nullptr, why);
}

int read_pattern(const rte_flow_item* item, rte_flow& rule, rte_flow_error* error) {
    bool udp = false;
    for (; item->type != RTE_FLOW_ITEM_TYPE_END; ++item) {
        switch (item->type) {
            case RTE_FLOW_ITEM_TYPE_ETH:
            case RTE_FLOW_ITEM_TYPE_IPV4: break;
            case RTE_FLOW_ITEM_TYPE_IPV6: rule.ipv6 = true; break;
            case RTE_FLOW_ITEM_TYPE_UDP:
                udp = true;
                rule.port_mask = static_cast<const rte_flow_item_udp*>(item->mask)->hdr.dst_port;
                rule.port = static_cast<const rte_flow_item_udp*>(item->spec)->hdr.dst_port & rule.port_mask;
                break;
            default: return refuse(error, RTE_FLOW_ERROR_TYPE_ITEM, "an item that it does not know");
        }
    }
    return udp ? 0 : refuse(error, RTE_FLOW_ERROR_TYPE_ITEM, "no UDP");
}

int read_action(const rte_eth_dev* dev, const rte_flow_action* action, rte_flow& rule, rte_flow_error* error) {
    if (action->type == RTE_FLOW_ACTION_TYPE_QUEUE) {
        rule.queues = {static_cast<const rte_flow_action_queue*>(action->conf)->index};
    } else if (action->type == RTE_FLOW_ACTION_TYPE_RSS && port_of(dev).spreads) {
        const auto& rss = *static_cast<const rte_flow_action_rss*>(action->conf);
        rule.queues.assign(rss.queue, rss.queue + rss.queue_num);
    } else {
        return refuse(error, RTE_FLOW_ERROR_TYPE_ACTION, "an action that it does not know");
    }
    const bool there = !rule.queues.empty() &&
                       std::ranges::all_of(rule.queues, [&](auto queue) { return queue < dev->data->nb_rx_queues; });
    return there ? 0 : refuse(error, RTE_FLOW_ERROR_TYPE_ACTION, "no such queue");
}

int read_rule(const rte_eth_dev* dev, const rte_flow_attr* attributes, const rte_flow_item* pattern,
              const rte_flow_action* actions, rte_flow& rule, rte_flow_error* error) {
    if (attributes->ingress == 0 || attributes->group != 0)
        return refuse(error, RTE_FLOW_ERROR_TYPE_ATTR, "a group that it does not have");
    if (const int rc = read_pattern(pattern, rule, error); rc != 0) return rc;
    return read_action(dev, actions, rule, error);
}

int validate(rte_eth_dev* dev, const rte_flow_attr* attributes, const rte_flow_item pattern[],
             const rte_flow_action actions[], rte_flow_error* error) {
    rte_flow rule;
    return read_rule(dev, attributes, pattern, actions, rule, error);
}
rte_flow* create(rte_eth_dev* dev, const rte_flow_attr* attributes, const rte_flow_item pattern[],
                 const rte_flow_action actions[], rte_flow_error* error) {
    rte_flow rule;
    if (read_rule(dev, attributes, pattern, actions, rule, error) != 0) return nullptr;
    auto& port = port_of(dev);
    const std::scoped_lock lock(port.mutex);
    return &port.rules.emplace_back(std::move(rule));
}
int destroy(rte_eth_dev* dev, rte_flow* flow, rte_flow_error*) {
    auto& port = port_of(dev);
    const std::scoped_lock lock(port.mutex);
    port.rules.remove_if([flow](const auto& rule) { return &rule == flow; });
    return 0;
}
int isolate(rte_eth_dev* dev, int set, rte_flow_error*) {
    port_of(dev).isolated = set != 0;
    return 0;
}
rte_flow_ops make_flow_operations() {
    rte_flow_ops operations{};
    operations.validate = validate;
    operations.create = create;
    operations.destroy = destroy;
    operations.isolate = isolate;
    return operations;
}
const rte_flow_ops flow_operations = make_flow_operations();

int flow_ops_get(rte_eth_dev*, const rte_flow_ops** operations) {
    *operations = &flow_operations;
    return 0;
}

// the port

int configure(rte_eth_dev*) {
    return 0;
}
int infos_get(rte_eth_dev*, rte_eth_dev_info* info) {
    info->max_rx_queues = info->max_tx_queues = most_queues;
    info->flow_type_rss_offloads = RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP;
    info->reta_size = 128;
    info->max_mac_addrs = 1;
    info->min_mtu = RTE_ETHER_MIN_MTU;
    info->max_mtu = 9216;
    info->max_rx_pktlen = 9216 + RTE_ETHER_HDR_LEN;
    return 0;
}
int start(rte_eth_dev* dev) {
    dev->data->dev_link.link_status = RTE_ETH_LINK_UP;
    return 0;
}
int stop(rte_eth_dev* dev) {
    dev->data->dev_link.link_status = RTE_ETH_LINK_DOWN;
    for (auto& queue : port_of(dev).queues) {
        for (auto* const frame : queue) rte_pktmbuf_free(frame);
        queue.clear();
    }
    return 0;
}
void release_receive(rte_eth_dev* dev, std::uint16_t id) {
    delete static_cast<Queue*>(std::exchange(dev->data->rx_queues[id], nullptr));
}
void release_transmit(rte_eth_dev* dev, std::uint16_t id) {
    delete static_cast<Queue*>(std::exchange(dev->data->tx_queues[id], nullptr));
}
int rx_queue_setup(rte_eth_dev* dev, std::uint16_t id, std::uint16_t, unsigned, const rte_eth_rxconf*, rte_mempool*) {
    dev->data->rx_queues[id] = new Queue{&port_of(dev), id};
    return 0;
}
int tx_queue_setup(rte_eth_dev* dev, std::uint16_t id, std::uint16_t, unsigned, const rte_eth_txconf*) {
    dev->data->tx_queues[id] = new Queue{&port_of(dev), id};
    return 0;
}
int stats_get(rte_eth_dev* dev, rte_eth_stats* stats) {
    const auto& port = port_of(dev);
    stats->opackets = port.sent, stats->ipackets = port.received, stats->imissed = port.unwanted;
    return 0;
}
eth_dev_ops make_operations() {
    auto operations = verbline::test::usual_operations<Port>();
    operations.dev_configure = configure;
    operations.dev_infos_get = infos_get;
    operations.dev_start = start;
    operations.dev_stop = stop;
    operations.rx_queue_setup = rx_queue_setup;
    operations.tx_queue_setup = tx_queue_setup;
    operations.rx_queue_release = release_receive;
    operations.tx_queue_release = release_transmit;
    operations.stats_get = stats_get;
    operations.flow_ops_get = flow_ops_get;
    return operations;
}
const eth_dev_ops operations = make_operations();

int probe(rte_vdev_device* device) {
    const auto* const arguments = rte_vdev_device_args(device);
    auto port = std::make_unique<Port>();
    port->spreads = arguments == nullptr || std::strcmp(arguments, "rss=0") != 0;
    return verbline::test::add_port(device, std::move(port), operations, receive, transmit);
}

constinit rte_vdev_driver driver = verbline::test::vdev_driver(probe);

}  // namespace

RTE_PMD_REGISTER_VDEV(net_rules, driver);
