// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/factory/device_spec.h"

#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "pmd/runtime/runtime_directory.h"

namespace verbline::pmd {
namespace {

constexpr std::uint16_t max_queues = 64;

std::unexpected<Error> wrong(std::string_view text, std::string_view what) {
    return failure(EINVAL, fmt::format("device `{}`: {}", text, what));
}

std::vector<std::string_view> split(std::string_view text) {
    std::vector<std::string_view> items;
    for (;;) {
        const auto comma = text.find(',');
        items.push_back(text.substr(0, comma));
        if (comma == text.npos) return items;
        text.remove_prefix(comma + 1);
    }
}

std::optional<std::uint16_t> queues_of(std::string_view value) {
    std::uint16_t queues = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), queues);
    if (error != std::errc{} || end != value.data() + value.size()) return std::nullopt;
    if (queues == 0 || queues > max_queues) return std::nullopt;
    return queues;
}
std::string bad_queues() {
    return fmt::format("queues must be 1 to {}", max_queues);
}

Result<DeviceSpec> tap(std::string_view text, const std::vector<std::string_view>& items) {
    TapSpec spec{.interface = std::string(items[0])};
    if (spec.interface.empty()) return wrong(text, "needs an interface name: tap:IFNAME[,netns=NS][,queues=N]");
    for (std::size_t i = 1; i < items.size(); ++i) {
        const auto item = items[i];
        if (item.starts_with("netns=") && item.size() > 6) {
            spec.netns = item.substr(6);
        } else if (item.starts_with("queues=")) {
            const auto queues = queues_of(item.substr(7));
            if (!queues) return wrong(text, bad_queues());
            spec.queues = *queues;
        } else {
            return wrong(text, fmt::format("unknown option `{}`; known are netns=NS and queues=N", item));
        }
    }
    return spec;
}

Result<DeviceSpec> hca(std::string_view text, const std::vector<std::string_view>& items) {
    const auto slash = items[0].find('/');
    HcaSpec spec{.device = std::string(items[0].substr(0, slash))};
    if (spec.device.empty()) return wrong(text, "needs the name of an RDMA device: hca:NAME[/PORT][,library=PATH]");
    if (slash != std::string_view::npos) {
        const auto value = items[0].substr(slash + 1);
        const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), spec.port);
        if (error != std::errc{} || end != value.data() + value.size() || spec.port == 0 || spec.port == 255)
            return wrong(text, fmt::format("port `{}` is no number from 1 to 254", value));
    }
    for (std::size_t i = 1; i < items.size(); ++i) {
        if (!items[i].starts_with("library=") || items[i].size() == 8)
            return wrong(text, fmt::format("unknown option `{}`; known is library=PATH", items[i]));
        spec.library = items[i].substr(8);
    }
    return spec;
}

Result<DeviceSpec> memif_spec(std::string_view text, const std::vector<std::string_view>& items) {
    MemifSpec spec{.path = socket_path(items[0])};
    if (spec.path.empty()) return wrong(text, "needs a socket: memif:SOCKET[,server][,owner=UID][,queues=N]");
    for (std::size_t i = 1; i < items.size(); ++i) {
        if (items[i] == "server") {
            spec.server = true;
        } else if (items[i].starts_with("owner=")) {
            const auto value = items[i].substr(6);
            uid_t user = 0;
            const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), user);
            if (error != std::errc{} || end != value.data() + value.size())
                return wrong(text, "owner is a numeric user id; `id -u NAME` prints it");
            spec.trust.user = user;
        } else if (items[i].starts_with("queues=")) {
            const auto queues = queues_of(items[i].substr(7));
            if (!queues) return wrong(text, bad_queues());
            spec.queues = *queues;
        } else {
            return wrong(text, fmt::format("unknown option `{}`; known are server, owner=UID and queues=N", items[i]));
        }
    }
    return spec;
}

/// Reads a hexadecimal number of `digits` and the separator behind it from the front of `text`; `end`: there is none.
constexpr char end = '\0';
bool takes_hex(std::string_view& text, std::size_t digits, char separator) {
    if (text.size() < digits) return false;
    for (const auto digit : text.substr(0, digits)) {
        if (std::string_view("0123456789abcdefABCDEF").find(digit) == std::string_view::npos) return false;
    }
    text.remove_prefix(digits);
    if (separator == end) return text.empty();
    if (!text.starts_with(separator)) return false;
    text.remove_prefix(1);
    return true;
}

}  // namespace

std::optional<std::string> pci_address(const DpdkSpec& device) {
    const auto name = device.devargs.substr(0, device.devargs.find(','));
    std::string_view rest(name);
    const bool has_domain = takes_hex(rest, 4, ':');
    if (!has_domain) rest = name;
    if (!takes_hex(rest, 2, ':') || !takes_hex(rest, 2, '.') || !takes_hex(rest, 1, end)) return std::nullopt;
    return has_domain ? name : "0000:" + name;
}

Result<DeviceSpec> parse_device_spec(std::string_view text) {
    const auto colon = text.find(':');
    const auto kind = text.substr(0, colon);
    const auto rest = colon == text.npos ? std::string_view() : text.substr(colon + 1);
    if (colon != text.npos && kind == "tap") return tap(text, split(rest));
    if (colon != text.npos && kind == "memif") return memif_spec(text, split(rest));
    if (colon != text.npos && kind == "hca") return hca(text, split(rest));
    if (colon != text.npos && kind == "eth") {
        if (rest.empty() || rest.contains(',')) return wrong(text, "needs an interface name alone: eth:IFNAME");
        return EthernetSpec{std::string(rest)};
    }
    if (colon != text.npos && kind == "dpdk") {
        if (rest.empty()) return wrong(text, "needs a PCI address or a virtual device: dpdk:DEVARGS");
        DpdkSpec port{std::string(rest)};
        // DPDK finds a port by its whole address, and probes it a second time by another.
        if (const auto address = pci_address(port)) port.devargs.replace(0, port.devargs.find(','), *address);
        return port;
    }
    return wrong(text, "unknown kind; use tap:IFNAME, eth:IFNAME, memif:SOCKET, hca:NAME/PORT or dpdk:DEVARGS");
}

}  // namespace verbline::pmd
