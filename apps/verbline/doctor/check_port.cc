// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "apps/verbline/doctor/checks.h"

namespace verbline::doctor {
namespace {

/// RoCE's largest path MTU with its headers and room for a VLAN tag.
constexpr std::int64_t largest_roce_frame = 4200;

bool has_type(const Port& port, std::int64_t type) {
    return std::ranges::any_of(port.interfaces, [&](const Interface& one) { return one.type == type; });
}

/// mlx5's functions 0 and 1 are ports 1 and 2 of the adapter.
char port_number(const Port& port) {
    return port.address.ends_with(".1") ? '2' : '1';
}

Findings check_link_type(const Port& port, const Interface& interface) {
    if (interface.type != Interface::infiniband || !port.is_mlx5()) return {};
    return {{.severity = Severity::warning,
             .subject = interface.name,
             .found = "InfiniBand, as IPoIB needs; DPDK's mlx5 driver wants Ethernet; reboot after this",
             .command = fmt::format("mlxconfig -d {} set LINK_TYPE_P{}=2", port.address, port_number(port))}};
}

/// Servers have ports that nobody uses: only of one that is named it is a warning.
Findings check_carrier(const Port& port, const Interface& interface) {
    const auto severity = port.named ? Severity::warning : Severity::note;
    if (interface.up == false)
        return {{.severity = severity,
                 .subject = interface.name,
                 .found = "the interface is down",
                 .command = fmt::format("ip link set dev {} up", interface.name)}};
    if (interface.carrier == false)
        return {{.severity = severity,
                 .subject = interface.name,
                 .found = "no carrier: look at cable, module and the other end",
                 .command = fmt::format("ethtool {}", interface.name)}};
    return {};
}

Findings check_mtu(const Interface& interface) {
    if (interface.type != Interface::ethernet || !interface.mtu || *interface.mtu >= largest_roce_frame) return {};
    return {{.severity = Severity::note,
             .subject = interface.name,
             .found = fmt::format("MTU is {}: RoCE's path MTU of 4096 bytes needs {}, on switches as well",
                                  *interface.mtu, largest_roce_frame),
             .command = fmt::format("ip link set dev {} mtu {}", interface.name, largest_roce_frame)}};
}

Findings check_pause(const Interface& interface) {
    if (!interface.pause || !(interface.pause->receive || interface.pause->transmit)) return {};
    return {{.severity = Severity::warning,
             .subject = interface.name,
             .found = "flow control is on: receivers stop their senders, and no loss is seen",
             .command = fmt::format("ethtool -A {} rx off tx off", interface.name)}};
}

Findings check_mlx5_driver(const Port& port) {
    if (port.driver == "mlx5_core") return {};
    if (port.driver.empty())
        return {{.severity = Severity::error,
                 .subject = port.address,
                 .found = "has no driver; DPDK's mlx5 driver works by mlx5_core",
                 .command = "modprobe mlx5_core"}};
    // A virtual function may be meant for a virtual machine.
    return {{.severity = port.virtual_function && !port.named ? Severity::note : Severity::error,
             .subject = port.address,
             .found = fmt::format("bound to {}; DPDK's mlx5 driver works by mlx5_core", port.driver),
             .command = fmt::format("dpdk-devbind.py --bind=mlx5_core {}", port.address)}};
}

}  // namespace

bool in_user_space(const Port& port) {
    constexpr std::array<std::string_view, 3> drivers{"vfio-pci", "igb_uio", "uio_pci_generic"};
    return std::ranges::find(drivers, port.driver) != drivers.end();
}

Findings check_driver(const Port& port) {
    if (port.is_mlx5()) return check_mlx5_driver(port);
    if (in_user_space(port)) return {};
    for (const auto& interface : port.interfaces)
        if (interface.default_route)
            return {{.severity = Severity::note,
                     .subject = port.address,
                     .found = fmt::format("{} carries the default route: use it as eth:{}, not by DPDK", interface.name,
                                          interface.name),
                     .command = ""}};
    return {{.severity = Severity::note,
             .subject = port.address,
             .found = port.driver.empty() ? "has no driver; DPDK needs vfio-pci"
                                          : fmt::format("bound to {}, the kernel's: not for DPDK", port.driver),
             .command = fmt::format("dpdk-devbind.py --bind=vfio-pci {}", port.address)}};
}

Findings check_roce(const Port& port) {
    if (!port.is_mlx5() || port.driver != "mlx5_core" || !has_type(port, Interface::ethernet)) return {};
    unsigned gids = 0;
    for (const auto& device : port.rdma_devices) gids += device.roce_gids;
    const auto reload = fmt::format("devlink dev reload pci/{}", port.address);
    if (port.enable_roce == false) {
        if (gids == 0) return {};
        return {{.severity = Severity::warning,
                 .subject = port.address,
                 .found = fmt::format("enable_roce is off but not yet in effect: {} RoCE GIDs", gids),
                 .command = reload}};
    }
    if (!port.enable_roce && gids == 0) return {};
    return {{.severity = Severity::warning,
             .subject = port.address,
             .found = fmt::format("RoCE is on (GIDs: {}): the adapter keeps UDP port 4791 of its MAC for itself", gids),
             .command = fmt::format("devlink dev param set pci/{} name enable_roce value false cmode driverinit && {}",
                                    port.address, reload)}};
}

Findings check_interfaces(const Port& port) {
    Findings findings;
    for (const auto& interface : port.interfaces) {
        std::ranges::move(check_link_type(port, interface), std::back_inserter(findings));
        std::ranges::move(check_carrier(port, interface), std::back_inserter(findings));
        std::ranges::move(check_mtu(interface), std::back_inserter(findings));
        std::ranges::move(check_pause(interface), std::back_inserter(findings));
    }
    return findings;
}

std::string description(const Port& port) {
    std::string text = port.driver.empty() ? "no driver" : port.driver;
    if (port.link.gigatransfers && port.link.width)
        text += fmt::format(", PCIe {} GT/s x{}", *port.link.gigatransfers, *port.link.width);
    if (port.node && *port.node >= 0) text += fmt::format(", NUMA node {}", *port.node);
    for (const auto& interface : port.interfaces) {
        text += ", " + interface.name;
        if (interface.speed_mbps) text += fmt::format(" {} Gb/s", static_cast<double>(*interface.speed_mbps) / 1000);
        if (interface.mtu) text += fmt::format(" MTU {}", *interface.mtu);
    }
    return text;
}

}  // namespace verbline::doctor
