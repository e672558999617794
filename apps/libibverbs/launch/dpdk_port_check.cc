// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/launch/dpdk_port_check.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <ranges>
#include <string_view>

#include <fmt/format.h>

#include "apps/libibverbs/settings/settings.h"

namespace verbline::verbs {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view af_packet = "net_af_packet";
constexpr std::array<std::string_view, 3> user_space_drivers{"vfio-pci", "uio_pci_generic", "igb_uio"};

/// The value of an argument of a driver: "net_af_packet0,iface=eth1".
std::string argument(std::string_view devargs, std::string_view name) {
    for (const auto part : std::views::split(devargs, ',')) {
        const std::string_view text(part);
        if (text.starts_with(name) && text.substr(name.size()).starts_with('=')) {
            return std::string(text.substr(name.size() + 1));
        }
    }
    return {};
}

Result<void> check_vhost_port(const pmd::DpdkSpec& port) {
    const auto path = argument(port.devargs, "path");
    std::error_code problem;
    if (path.empty()) {
        return failure(EINVAL, "names no socket of a vhost port; use dpdk:net_virtio_user0,path=SOCKET");
    }
    const bool serves = argument(port.devargs, "server") == "1";
    if (serves || fs::exists(path, problem)) return {};
    return failure(ENOENT,
                   fmt::format("there is no socket {}; start the switch that makes it first, or add `server=1`", path));
}

Result<void> check_pci_device(const std::string& address, const fs::path& sysfs) {
    const auto device = sysfs / "bus/pci/devices" / address;
    std::error_code problem;
    if (!fs::exists(device, problem)) {
        return failure(ENODEV, fmt::format("there is no PCI device {}; `lspci -D` lists them", address));
    }
    std::string vendor;
    std::ifstream(device / "vendor") >> vendor;
    if (vendor == "0x15b3") {
        return failure(ENOTSUP, fmt::format("the driver of this adapter needs the system's libibverbs, which a program "
                                            "under verbline does not have; let a node have it, `verbline node NAME "
                                            "--port dpdk:{}`, and use node:NAME",
                                            address));
    }
    const auto driver = fs::read_symlink(device / "driver", problem).filename().string();
    if (std::ranges::find(user_space_drivers, driver) != user_space_drivers.end()) return {};
    return failure(EBUSY,
                   fmt::format("{} the device; give it to user space with `dpdk-devbind.py --bind=vfio-pci {}`",
                               driver.empty() ? "no driver has" : "the kernel's driver " + driver + " has", address));
}

}  // namespace

std::optional<std::string> kernel_interface_of(const pmd::DpdkSpec& port) {
    if (!port.devargs.starts_with(af_packet)) return std::nullopt;
    return argument(port.devargs, "iface");
}

Result<void> check_dpdk_port(const pmd::DpdkSpec& port, const fs::path& sysfs) {
    if (const auto interface = kernel_interface_of(port)) {
        if (!interface->empty()) return {};
        return failure(EINVAL, "names no interface; use dpdk:net_af_packet0,iface=IFNAME");
    }
    if (is_vhost_port(port)) return check_vhost_port(port);
    if (const auto address = pmd::pci_address(port)) return check_pci_device(*address, sysfs);
    return failure(ENOTSUP,
                   fmt::format("of DPDK's virtual drivers programs have net_af_packet and net_virtio_user; let "
                               "a hub have this port, `verbline hub NAME --uplink dpdk:{}`, and use hub:NAME",
                               port.devargs));
}

}  // namespace verbline::verbs
