// SPDX-License-Identifier: BSD-3-Clause
// A port of DPDK for tests: an interface of the kernel, whose carrier is the port's link, as an adapter's cable is.
// `--vdev net_link0,iface=NAME`. DPDK's own drivers of such interfaces say that the link is always up (net_af_packet),
// or tell nobody that it went (net_tap).
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <rte_kvargs.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <arpa/inet.h>

#include "tests/drivers/vdev.h"

namespace {

struct Port {
    ~Port() {
        if (socket >= 0) ::close(socket);
    }
    int socket = -1;
    std::string interface;
    rte_ether_addr mac{};
    rte_mempool* pool = nullptr;
    std::uint64_t sent = 0, received = 0;
};

Port& port_of(const rte_eth_dev* dev) {
    return verbline::test::port_of<Port>(dev);
}

/// What the kernel says of the interface.
bool ask(const Port& port, unsigned long request, ifreq& answer) {
    port.interface.copy(answer.ifr_name, IFNAMSIZ - 1);
    return ioctl(port.socket, request, &answer) == 0;
}

std::uint16_t receive(void* queue, rte_mbuf** frames, std::uint16_t count) {
    auto& port = *static_cast<Port*>(queue);
    std::uint16_t given = 0;
    while (given < count) {
        auto* const frame = rte_pktmbuf_alloc(port.pool);
        if (frame == nullptr) break;
        const auto size = recv(port.socket, rte_pktmbuf_mtod(frame, void*), rte_pktmbuf_tailroom(frame), MSG_DONTWAIT);
        if (size <= 0) {
            rte_pktmbuf_free(frame);
            break;
        }
        frame->data_len = static_cast<std::uint16_t>(size);
        frame->pkt_len = frame->data_len;
        frame->port = RTE_MBUF_PORT_INVALID;
        frames[given++] = frame;
    }
    port.received += given;
    return given;
}

/// What the kernel does not take is lost, as on a cable.
std::uint16_t transmit(void* queue, rte_mbuf** frames, std::uint16_t count) {
    auto& port = *static_cast<Port*>(queue);
    for (std::uint16_t i = 0; i < count; ++i) {
        std::array<std::byte, 9216 + RTE_ETHER_HDR_LEN> room;
        const auto size = std::min<std::size_t>(frames[i]->pkt_len, room.size());
        const auto* const bytes = rte_pktmbuf_read(frames[i], 0, static_cast<std::uint32_t>(size), room.data());
        (void)send(port.socket, bytes, size, MSG_DONTWAIT);
        rte_pktmbuf_free(frames[i]);
    }
    port.sent += count;
    return count;
}

int configure(rte_eth_dev*) {
    return 0;
}
int infos_get(rte_eth_dev*, rte_eth_dev_info* info) {
    info->max_rx_queues = info->max_tx_queues = 1;
    info->max_mac_addrs = 1;
    info->min_mtu = RTE_ETHER_MIN_MTU;
    info->max_mtu = 1500;
    info->max_rx_pktlen = 1500 + RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN;
    return 0;
}

int link_update(rte_eth_dev* dev, int) {
    ifreq answer{};
    const bool up =
        dev->data->dev_started != 0 && ask(port_of(dev), SIOCGIFFLAGS, answer) && (answer.ifr_flags & IFF_RUNNING) != 0;
    dev->data->dev_link.link_speed = RTE_ETH_SPEED_NUM_10G;
    dev->data->dev_link.link_duplex = RTE_ETH_LINK_FULL_DUPLEX;
    dev->data->dev_link.link_status = up ? RTE_ETH_LINK_UP : RTE_ETH_LINK_DOWN;
    return 0;
}
int start(rte_eth_dev*) {
    return 0;
}
int stop(rte_eth_dev* dev) {
    dev->data->dev_link.link_status = RTE_ETH_LINK_DOWN;
    return 0;
}
int rx_queue_setup(rte_eth_dev* dev, std::uint16_t id, std::uint16_t, unsigned, const rte_eth_rxconf*,
                   rte_mempool* pool) {
    port_of(dev).pool = pool;
    dev->data->rx_queues[id] = &port_of(dev);
    return 0;
}
// All frames arrive, whatever their address.
int promiscuous(rte_eth_dev*) {
    return 0;
}
int mac_addr_set(rte_eth_dev*, rte_ether_addr*) {
    return 0;
}
int mtu_set(rte_eth_dev*, std::uint16_t) {
    return 0;
}

eth_dev_ops make_operations() {
    auto operations = verbline::test::usual_operations<Port>();
    operations.dev_configure = configure;
    operations.dev_infos_get = infos_get;
    operations.dev_start = start;
    operations.dev_stop = stop;
    operations.rx_queue_setup = rx_queue_setup;
    operations.link_update = link_update;
    operations.promiscuous_enable = operations.promiscuous_disable = promiscuous;
    operations.allmulticast_enable = operations.allmulticast_disable = promiscuous;
    operations.mac_addr_set = mac_addr_set;
    operations.mtu_set = mtu_set;
    return operations;
}
const eth_dev_ops operations = make_operations();

/// A socket that sends on the interface, and receives all that arrives there.
int open_socket(Port& port) {
    port.socket = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL));
    ifreq answer{};
    if (port.socket < 0 || !ask(port, SIOCGIFHWADDR, answer)) return -errno;
    std::memcpy(port.mac.addr_bytes, answer.ifr_hwaddr.sa_data, sizeof port.mac.addr_bytes);
    if (!ask(port, SIOCGIFINDEX, answer)) return -errno;
    sockaddr_ll address{};
    address.sll_family = AF_PACKET, address.sll_protocol = htons(ETH_P_ALL), address.sll_ifindex = answer.ifr_ifindex;
    packet_mreq everything{};
    everything.mr_ifindex = answer.ifr_ifindex, everything.mr_type = PACKET_MR_PROMISC;
    const int on = 1;
    const bool done = bind(port.socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
                      setsockopt(port.socket, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &everything, sizeof everything) == 0 &&
                      setsockopt(port.socket, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof on) == 0;
    return done ? 0 : -errno;
}

int read_interface(const char*, const char* text, void* value) {
    *static_cast<std::string*>(value) = text;
    return 0;
}

int probe(rte_vdev_device* device) {
    auto port = std::make_unique<Port>();
    constexpr std::array<const char*, 2> keys{"iface", nullptr};
    auto* const arguments = rte_kvargs_parse(rte_vdev_device_args(device), keys.data());
    if (arguments == nullptr) return -EINVAL;
    rte_kvargs_process(arguments, "iface", read_interface, &port->interface);
    rte_kvargs_free(arguments);
    if (const int rc = open_socket(*port); rc != 0) return rc;
    return verbline::test::add_port(device, std::move(port), operations, receive, transmit);
}

constinit rte_vdev_driver driver = verbline::test::vdev_driver(probe);

}  // namespace

RTE_PMD_REGISTER_VDEV(net_link, driver);
