// SPDX-License-Identifier: BSD-3-Clause
// What a gateway does while it runs. How it is put together is in gateway.cc.
#include <algorithm>
#include <tuple>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "control/gateway/changes.h"
#include "control/gateway/gateway.h"
#include "control/gateway/kernel_changes.h"
#include "control/gateway/program_commands.h"

namespace verbline::gateway {

void Gateway::handle(const router::Event& event) {
    std::visit([this](const auto& e) { ports_[static_cast<std::size_t>(e.port)]->port().handle(e); }, event);
}

/// RFC 4862, 5.4.5: an address that another host has is not used. The kernel, which sees no link and detects nothing
/// by itself, is made to give it up.
void Gateway::resolve_conflict(const GatewayPort& port, const neighbour::Conflict& conflict) {
    const auto& addresses = port.port().addresses();
    const auto own = std::ranges::find(addresses, conflict.address, &link::InterfaceAddress::gid);
    if (own == addresses.end()) return;
    const auto host = conflict.at ? neighbour::to_string(*conflict.at) : "which probes for it";
    const auto address = link::address_text(conflict.address);
    if (!conflict.lost) {
        return setup_.on_trouble(fmt::format("{}: another host ({}) uses our address {}: give one of them another",
                                             port.name(), host, address));
    }
    auto netlink = host::Netlink::open(config_.netns);
    const auto link = netlink ? netlink->link(port.name()) : std::unexpected(netlink.error());
    const auto removed = link ? netlink->remove_address(link->ifindex, *own) : std::unexpected(link.error());
    setup_.on_trouble(fmt::format("{}: address {} is another host's ({}): {}; give one of them another", port.name(),
                                  address, host, removed ? "removed from the interface" : removed.error().what));
}

/// A daemon that moves the address takes it off here before; one that was killed leaves it behind.
void Gateway::report_yielded(const GatewayPort& port, const neighbour::Yielded& yielded) const {
    const auto address = link::address_text(yielded.address);
    if (yielded.back) {
        return setup_.on_trouble(fmt::format(
            "{}: virtual address {} is announced by nobody else any more: answered for again", port.name(), address));
    }
    const auto host = yielded.to ? " (" + neighbour::to_string(*yielded.to) + ")" : "";
    setup_.on_trouble(
        fmt::format("{}: virtual address {} is announced by another host{}: left to it; if that should "
                    "not be, see whether keepalived runs here",
                    port.name(), address, host));
}

/// What runs is what the next reload compares the file with.
Result<std::string> Gateway::run_command(const telemetry::Json& request) {
    auto done = run_program_command(*programs_, request);
    for (std::size_t i = 0; i < config_.ports.size(); ++i) {
        const auto& source = programs_->ports()[i].source();
        config_.ports[i].program = source.file;
        config_.ports[i].program_section = source.section;
    }
    return done;
}

/// Routing daemons withdraw what leads by a port without a carrier. If the kernel takes no word of it, they hear of it
/// later, when it looks at the carrier itself.
void Gateway::tell_daemons(const GatewayPort& port) {
    auto netlink = host::Netlink::open(config_.netns);
    const auto link = netlink ? netlink->link(port.name()) : std::unexpected(netlink.error());
    if (link) std::ignore = netlink->set_running(link->ifindex, port.port().carrier());
}

void Gateway::upkeep() {
    programs_->reclaim();
    for (auto& port : ports_)
        if (port->upkeep(*shard_links_)) tell_daemons(*port);
    shards_->look_after(loop_.now(), setup_.on_trouble);
    full_tables_.look_after(fib_->counters(), ipv6_fib_->counters(), shards_->neighbours_refused());
    if (!capture_ || capture_failed_) return;
    if (const auto written = capture_->drain(); !written) {
        setup_.on_trouble("capture ends: " + written.error().what);
        capture_failed_ = true;
    }
}

void Gateway::report_when_ready() {
    if (ready_) return;
    // A gateway is ready before its hosts are; a host is ready only with its link up.
    for (const auto& port : ports_)
        if (!port->up() || (setup_.deliver_all_to_kernel && !port->port().carrier())) return;
    ready_ = true;
    setup_.on_ready(ports_text());
}

std::string Gateway::ports_text() const {
    std::string text;
    for (const auto& port : config_.ports) {
        text += fmt::format("{}{}", text.empty() ? "" : ", ", port.name);
        for (const auto& address : port.addresses) text += ' ' + to_string(address);
    }
    return text;
}

Result<std::string> Gateway::reload(const GatewayConfig& wanted) {
    const auto changes = changes_between(config_, wanted);
    if (!changes) return std::unexpected(changes.error());
    auto prepared = programs_->prepare(*changes, config_, wanted);
    if (!prepared) return std::unexpected(prepared.error());
    auto relays = dhcp_relays_->prepare(*changes, config_, wanted);
    if (!relays) return std::unexpected(relays.error());
    auto captures = open_captures(*changes, wanted);
    if (!captures) return std::unexpected(captures.error());
    if (std::ranges::any_of(wanted.ports, &PortConfig::proxy)) {
        if (auto proxies = prepare_proxying(); !proxies) return std::unexpected(proxies.error());
    }
    auto netlink = host::Netlink::open(config_.netns);
    if (!netlink) return std::unexpected(netlink.error());
    const auto made = KernelChanges(*netlink, config_, ifindexes_).make(*changes, wanted);
    follower_->catch_up();
    if (!made) return std::unexpected(made.error());
    programs_->publish(std::move(*prepared));
    auto summary = to_string(*changes, config_);
    adopt(config_, wanted);
    for (const auto& [port, setting] : changes->settings) change(*ports_[port], setting);
    for (auto& [port, file] : *captures) ports_[port]->capture(std::move(file), *shard_links_);
    dhcp_relays_->use(std::move(*relays));
    tell_relays();
    return summary;
}

/// The files of captures that change, by port; null: the capture ends. A file that is being written to cannot be
/// another port's at the same time.
Result<Gateway::Captures> Gateway::open_captures(const Changes& changes, const GatewayConfig& wanted) const {
    Captures captures;
    for (const auto& [port, setting] : changes.settings) {
        if (setting != Setting::capture) continue;
        auto& file = captures.emplace_back(port, nullptr).second;
        const auto& config = *find_port(wanted, config_.ports[port].name);
        if (config.capture.empty()) continue;
        const auto refuse = [&](std::string reason) {
            return std::unexpected(config_error(wanted.file, config.lines.capture, std::move(reason)));
        };
        const bool in_use =
            config.capture == setup_.capture ||
            std::ranges::find(config_.ports, config.capture, &PortConfig::capture) != config_.ports.end();
        if (in_use)
            return refuse(fmt::format("capture of {}: {} is being written to: end the capture that does so first",
                                      config.name, config.capture));
        auto opened = pmd::CaptureFile::create(config.capture);
        if (!opened) return refuse(opened.error().what);
        file = std::move(*opened);
    }
    return captures;
}

void Gateway::change(GatewayPort& port, Setting setting) {
    if (setting == Setting::multicast) return multicast_->change(port);
    if (setting != Setting::proxy) return port.change(setting, *shard_links_);
    if (port.config().proxy) return proxying_->add(port.port());
    proxying_->remove(port.port());
}

void Gateway::tell_relays() {
    for (const auto& port : ports_) dhcp_relays_->set_addresses(port->id(), port->port().addresses());
}

View Gateway::view() {
    return {.config = config_,
            .ports = ports_,
            .fib = *fib_,
            .ipv6_fib = *ipv6_fib_,
            .ipv6_gateways = ipv6_gateways_,
            .shards = *shards_,
            .warnings = warnings_,
            .links = *shard_links_,
            .multicast = *multicast_,
            .programs = *programs_,
            .follower = *follower_,
            .proxying = proxying_ ? &*proxying_ : nullptr,
            .dhcp_relays = *dhcp_relays_,
            .now = loop_.now()};
}

}  // namespace verbline::gateway
