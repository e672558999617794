// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/settings/settings.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace verbline::verbs {
namespace {

constexpr std::size_t longest_name = 64, longest_interface = 15;  // IFNAMSIZ, with its zero
constexpr std::string_view spaces = " \t\n";

template <class... Visitors>
struct Overloaded : Visitors... {
    using Visitors::operator()...;
};

std::unexpected<Error> wrong(std::string_view link, std::string_view what) {
    return failure(EINVAL, fmt::format("link `{}`: {}", link, what));
}

/// A hub's name becomes part of a path, a fabric's part of a socket's name.
bool valid_name(std::string_view name) {
    constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    return !name.empty() && name.size() <= longest_name && name.find_first_not_of(letters) == name.npos &&
           name[0] != '.' && name[0] != '-';
}

Result<Link> infiniband(std::string_view link, std::string_view rest) {
    const auto at = rest.rfind('@');  // a node's description may contain one
    if (at == rest.npos || at == 0 || at > longest_name || !valid_name(rest.substr(at + 1)))
        return wrong(link, "needs a host and a fabric: ib:HOST@FABRIC");
    return InfinibandLink{std::string(rest.substr(0, at)), std::string(rest.substr(at + 1))};
}

std::vector<std::string_view> words(std::string_view text) {
    std::vector<std::string_view> all;
    for (;;) {
        const auto begin = text.find_first_not_of(spaces);
        if (begin == text.npos) return all;
        const auto end = std::min(text.find_first_of(spaces, begin), text.size());
        all.push_back(text.substr(begin, end - begin));
        text.remove_prefix(end);
    }
}

}  // namespace

Result<std::uint16_t> parse_mtu(std::string_view text) {
    std::uint16_t mtu = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), mtu);
    if (error != std::errc{} || end != text.data() + text.size() || mtu < min_mtu)
        return failure(EINVAL, fmt::format("{} is no MTU; use {} to 65535", text, min_mtu));
    return mtu;
}

Result<InterfaceAddress> parse_address(std::string_view text) {
    const auto address = link::parse_ipoib_address(text);
    if (!address)
        return failure(EINVAL,
                       fmt::format("{} is no address with prefix length such as 10.1.0.1/24 or fd00::1/64", text));
    if (!link::usable(*address))
        return failure(EINVAL, fmt::format("{} is no address that an interface can have", text));
    return *address;
}

bool is_vhost_port(const pmd::DpdkSpec& port) {
    return port.devargs.starts_with("net_virtio_user");
}

Result<Link> parse_link(std::string_view text) {
    if (text.find_first_of(spaces) != text.npos) return wrong(text, "must not contain spaces");
    const auto colon = text.find(':');
    const auto kind = text.substr(0, colon == text.npos ? 0 : colon);
    const auto rest = text.substr(colon == text.npos ? 0 : colon + 1);
    if (kind == "hub") {
        if (!valid_name(rest)) return wrong(text, "needs a hub's name: letters, digits, `.`, `_` and `-`");
        return HubLink{std::string(rest)};
    }
    if (kind == "node") {
        if (!valid_name(rest)) return wrong(text, "needs a node's name: letters, digits, `.`, `_` and `-`");
        return NodeLink{std::string(rest)};
    }
    if (kind == "eth") {
        if (rest.empty() || rest.size() > longest_interface || rest.find_first_of("/,") != rest.npos)
            return wrong(text, "needs the name of an interface: eth:IFNAME");
        return pmd::EthernetSpec{std::string(rest)};
    }
    if (kind == "ib") return infiniband(text, rest);
    if (kind != "memif" && kind != "tap" && kind != "dpdk")
        return wrong(text,
                     "unknown kind; use hub:NAME, node:NAME, memif:SOCKET, eth:IFNAME, tap:IFNAME, ib:HOST@FABRIC or "
                     "dpdk:DEVARGS");
    auto device = pmd::parse_device_spec(text);
    if (!device) return std::unexpected(std::move(device.error()));
    if (auto* memif = std::get_if<pmd::MemifSpec>(&*device)) return std::move(*memif);
    if (auto* tap = std::get_if<pmd::TapSpec>(&*device)) return std::move(*tap);
    return std::get<pmd::DpdkSpec>(std::move(*device));
}

std::string text(const Link& link) {
    return std::visit(Overloaded{
                          [](const HubLink& hub) { return "hub:" + hub.name; },
                          [](const NodeLink& node) { return "node:" + node.name; },
                          [](const pmd::MemifSpec& memif) {
                              auto out = fmt::format("memif:{}{}", memif.path, memif.server ? ",server" : "");
                              if (memif.trust.user) out += fmt::format(",owner={}", *memif.trust.user);
                              return out;
                          },
                          [](const pmd::EthernetSpec& ethernet) { return "eth:" + ethernet.interface; },
                          [](const pmd::TapSpec& tap) {
                              auto out = "tap:" + tap.interface;
                              if (!tap.netns.empty()) out += ",netns=" + tap.netns;
                              if (tap.queues != 1) out += fmt::format(",queues={}", tap.queues);
                              return out;
                          },
                          [](const InfinibandLink& port) { return fmt::format("ib:{}@{}", port.host, port.fabric); },
                          [](const pmd::DpdkSpec& port) { return "dpdk:" + port.devargs; },
                      },
                      link);
}

std::vector<std::string> device_names(std::span<const Link> links) {
    std::vector<std::string> names;
    unsigned ethernet = 0, infiniband = 0;
    for (const auto& link : links)
        names.push_back(is_infiniband(link) ? fmt::format("verbline_ib{}", infiniband++)
                                            : fmt::format("verbline{}", ethernet++));
    return names;
}

std::optional<std::string> process_environment(const char* name) {
    const char* value = std::getenv(name);
    return value ? std::optional<std::string>(value) : std::nullopt;
}

Result<Settings> settings_from_environment(const Environment& environment) {
    const auto value = [&](const char* name) { return environment(name).value_or(std::string()); };
    Settings settings;
    const auto links = value("VERBLINE_LINK"), addresses = value("VERBLINE_IP"), mtu = value("VERBLINE_MTU");
    if (!words(links).empty()) settings.links.clear();
    for (const auto word : words(links)) {
        auto link = parse_link(word);
        if (!link) return failure(link.error().code, "VERBLINE_LINK: " + link.error().what);
        settings.links.push_back(std::move(*link));
    }
    for (const auto word : words(addresses)) {
        const auto address = parse_address(word);
        if (!address) return failure(address.error().code, "VERBLINE_IP: " + address.error().what);
        settings.addresses.push_back(*address);
    }
    if (!mtu.empty()) {
        const auto parsed = parse_mtu(mtu);
        if (!parsed) return failure(parsed.error().code, "VERBLINE_MTU: " + parsed.error().what);
        settings.mtu = *parsed;
    }
    settings.impair = value("VERBLINE_IMPAIR");
    settings.capture = value("VERBLINE_CAPTURE");
    settings.sysfs = value("VERBLINE_SYSFS");
    if (const auto direct = value("VERBLINE_DIRECT"); direct == "no") {
        settings.direct = false;
    } else if (!direct.empty() && direct != "yes") {
        return failure(EINVAL, fmt::format("VERBLINE_DIRECT: `{}` is neither yes nor no", direct));
    }
    if (auto good = check(settings); !good) return std::unexpected(std::move(good.error()));
    return settings;
}

Result<void> check(const Settings& settings) {
    if (settings.links.size() > max_links) return failure(EINVAL, fmt::format("more than {} links", max_links));
    if (settings.addresses.size() > max_addresses)
        return failure(EINVAL, fmt::format("more than {} addresses", max_addresses));
    for (auto at = settings.links.begin(); at != settings.links.end(); ++at)
        if (!std::holds_alternative<HubLink>(*at) && std::find(settings.links.begin(), at, *at) != at)
            return failure(EINVAL, fmt::format("link `{}` is given twice", text(*at)));
    const auto same = [](const InterfaceAddress& one) {
        return [&one](const InterfaceAddress& other) { return one.gid == other.gid; };
    };
    for (auto at = settings.addresses.begin(); at != settings.addresses.end(); ++at)
        if (std::find_if(settings.addresses.begin(), at, same(*at)) != at)
            return failure(EINVAL, fmt::format("address {} is given twice", to_string(*at)));
    const auto partitioned = std::ranges::find_if(
        settings.addresses, [](const auto& address) { return address.pkey != InterfaceAddress{}.pkey; });
    if (partitioned != settings.addresses.end() && !std::ranges::all_of(settings.links, is_infiniband))
        return failure(EINVAL,
                       fmt::format("address {}: partitions are those of ib:HOST@FABRIC; leave the P_Key out, or "
                                   "name no link on Ethernet",
                                   to_string(*partitioned)));
    return {};
}

std::vector<std::pair<std::string, std::string>> environment_of(const Settings& settings) {
    std::vector<std::string> links, addresses;
    for (const auto& link : settings.links) links.push_back(text(link));
    for (const auto& address : settings.addresses) addresses.push_back(to_string(address));
    return {{"VERBLINE_LINK", fmt::format("{}", fmt::join(links, " "))},
            {"VERBLINE_IP", fmt::format("{}", fmt::join(addresses, " "))},
            {"VERBLINE_MTU", settings.mtu == 0 ? "" : fmt::format("{}", settings.mtu)},
            {"VERBLINE_IMPAIR", settings.impair},
            {"VERBLINE_CAPTURE", settings.capture},
            {"VERBLINE_DIRECT", settings.direct ? "" : "no"},
            {"VERBLINE_SYSFS", settings.sysfs}};
}

}  // namespace verbline::verbs
