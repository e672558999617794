// SPDX-License-Identifier: BSD-3-Clause
// A port of DPDK for tests: what is sent comes back, dated on its way by a clock of its own, as adapters date frames,
// and is held back for a while behind that. `--vdev net_clock0,hz=N,start=N,drift_ppm=N,hold_us=N,dates=0`: the clock's
// frequency, where it starts, how much faster it becomes in each second, how long frames are held back, and whether
// they are dated at all.
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>

#include <rte_cycles.h>
#include <rte_kvargs.h>
#include <rte_mbuf_dyn.h>

#include "tests/drivers/vdev.h"

namespace {

struct Clock {
    double hz = 1e9, drift_ppm = 0;
    std::uint64_t start = 0, origin = rte_rdtsc();

    std::uint64_t ticks(std::uint64_t tsc) const {
        const auto seconds = static_cast<double>(tsc - origin) / static_cast<double>(rte_get_tsc_hz());
        return start + static_cast<std::uint64_t>(hz * (seconds + drift_ppm * 1e-6 * seconds * seconds / 2));
    }
};

struct Port {
    Clock clock;
    std::uint64_t hold = 0;  ///< cycles
    bool dates = true;
    int offset = -1;
    std::uint64_t flag = 0;
    rte_ether_addr mac{{2, 0, 0, 0, 0xc1, 0x0c}};

    struct Held {
        rte_mbuf* frame;
        std::uint64_t due;
    };
    static constexpr std::size_t most_held = 2048;
    std::mutex mutex;  ///< two lcores may use the directions
    std::deque<Held> held;
    std::uint64_t sent = 0, received = 0;
};

Port& port_of(const rte_eth_dev* dev) {
    return verbline::test::port_of<Port>(dev);
}

std::uint16_t transmit(void* queue, rte_mbuf** frames, std::uint16_t count) {
    auto& port = *static_cast<Port*>(queue);
    const std::scoped_lock lock(port.mutex);
    std::uint16_t taken = 0;
    for (; taken < count && port.held.size() < Port::most_held; ++taken) {
        auto* const frame = frames[taken];
        const auto now = rte_rdtsc();
        frame->ol_flags &= ~port.flag;
        if (port.offset >= 0 && port.dates) {
            *RTE_MBUF_DYNFIELD(frame, port.offset, rte_mbuf_timestamp_t*) = port.clock.ticks(now);
            frame->ol_flags |= port.flag;
        }
        port.held.push_back({frame, now + port.hold});
    }
    port.sent += taken;
    return taken;
}

std::uint16_t receive(void* queue, rte_mbuf** frames, std::uint16_t count) {
    auto& port = *static_cast<Port*>(queue);
    const std::scoped_lock lock(port.mutex);
    const auto now = rte_rdtsc();
    std::uint16_t given = 0;
    for (; given < count && !port.held.empty() && port.held.front().due <= now; ++given) {
        frames[given] = port.held.front().frame;
        port.held.pop_front();
    }
    port.received += given;
    return given;
}

int configure(rte_eth_dev* dev) {
    auto& port = port_of(dev);
    port.offset = -1, port.flag = 0;
    if ((dev->data->dev_conf.rxmode.offloads & RTE_ETH_RX_OFFLOAD_TIMESTAMP) == 0) return 0;
    return rte_mbuf_dyn_rx_timestamp_register(&port.offset, &port.flag) == 0 ? 0 : -rte_errno;
}

int infos_get(rte_eth_dev*, rte_eth_dev_info* info) {
    info->max_rx_queues = info->max_tx_queues = 1;
    info->max_mac_addrs = 1;
    info->min_mtu = RTE_ETHER_MIN_MTU;
    info->max_mtu = 9216;
    info->max_rx_pktlen = 9216 + RTE_ETHER_HDR_LEN;
    info->rx_offload_capa = RTE_ETH_RX_OFFLOAD_TIMESTAMP;
    return 0;
}

int start(rte_eth_dev* dev) {
    dev->data->dev_link.link_status = RTE_ETH_LINK_UP;
    return 0;
}
int stop(rte_eth_dev* dev) {
    dev->data->dev_link.link_status = RTE_ETH_LINK_DOWN;
    auto& port = port_of(dev);
    for (const auto& [frame, due] : port.held) rte_pktmbuf_free(frame);
    port.held.clear();
    return 0;
}
int read_clock(rte_eth_dev* dev, std::uint64_t* ticks) {
    *ticks = port_of(dev).clock.ticks(rte_rdtsc());
    return 0;
}

eth_dev_ops make_operations() {
    auto operations = verbline::test::usual_operations<Port>();
    operations.dev_configure = configure;
    operations.dev_infos_get = infos_get;
    operations.dev_start = start;
    operations.dev_stop = stop;
    operations.read_clock = read_clock;
    return operations;
}
const eth_dev_ops operations = make_operations();

template <class Value>
int read_number(const char*, const char* text, void* value) {
    char* end = nullptr;
    if constexpr (std::is_same_v<Value, double>) {
        *static_cast<double*>(value) = std::strtod(text, &end);
    } else {
        *static_cast<std::uint64_t*>(value) = std::strtoull(text, &end, 10);
    }
    return end != text && *end == '\0' ? 0 : -EINVAL;
}

int read_arguments(const char* text, Port& port) {
    if (text == nullptr || *text == '\0') return 0;
    constexpr std::array<const char*, 6> keys{"hz", "start", "drift_ppm", "hold_us", "dates", nullptr};
    auto* const arguments = rte_kvargs_parse(text, keys.data());
    if (arguments == nullptr) return -EINVAL;
    std::uint64_t hold_us = 0, dates = 1;
    int rc = rte_kvargs_process(arguments, "hz", read_number<double>, &port.clock.hz);
    if (rc == 0) rc = rte_kvargs_process(arguments, "start", read_number<std::uint64_t>, &port.clock.start);
    if (rc == 0) rc = rte_kvargs_process(arguments, "drift_ppm", read_number<double>, &port.clock.drift_ppm);
    if (rc == 0) rc = rte_kvargs_process(arguments, "hold_us", read_number<std::uint64_t>, &hold_us);
    if (rc == 0) rc = rte_kvargs_process(arguments, "dates", read_number<std::uint64_t>, &dates);
    rte_kvargs_free(arguments);
    port.hold = hold_us * rte_get_tsc_hz() / 1'000'000;
    port.dates = dates != 0;
    return rc;
}

int probe(rte_vdev_device* device) {
    auto port = std::make_unique<Port>();
    if (const int rc = read_arguments(rte_vdev_device_args(device), *port); rc != 0) return rc;
    return verbline::test::add_port(device, std::move(port), operations, receive, transmit);
}

constinit rte_vdev_driver driver = verbline::test::vdev_driver(probe);

}  // namespace

RTE_PMD_REGISTER_VDEV(net_clock, driver);
