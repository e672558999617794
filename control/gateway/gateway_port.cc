// SPDX-License-Identifier: BSD-3-Clause
#include "control/gateway/gateway_port.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "control/gateway/table_limits.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/text.h"
#include "pmd/base/clock.h"
#include "pmd/impair/spec.h"
#include "pmd/tun/tun.h"

namespace verbline::gateway {

static_assert(most_connected_mtu == ipoib::connected_mtu);

std::unexpected<Fault> GatewayPort::misfit(unsigned line, std::string reason) const {
    return std::unexpected(Fault{.of_config = true, .what = config_error(config_.file, line, std::move(reason)).what});
}

/// The files that record the MADs may go with it.
GatewayPort::~GatewayPort() {
    if (subnet_) subnet_->stop_capture();
}

Outcome GatewayPort::open_subnet(control::Loop& loop, const GatewayPort* parent) {
    if (!port_config_.has_subnet()) return {};
    if (parent != nullptr) {
        subnet_ = parent->subnet_;
        first_of_subnet_ = false;
        return check_subnet();
    }
    auto subnet = Subnet::open(port_config_.sm, port_config_.backup_sm, loop);
    if (!subnet) return fault(fmt::format("port {}: {}", name(), subnet.error().what));
    subnet_ = std::move(*subnet);
    return check_subnet();
}

/// What only the subnet manager knows. A port it has not configured yet is checked again when it comes up.
Outcome GatewayPort::check_subnet() const {
    const auto& facts = subnet_->port();
    if (!facts.active()) return {};
    const auto& port = port_config_;
    const auto shared = [&](wire::PKey pkey) { return partition(pkey) == partition(port.pkey); };
    if (std::ranges::none_of(facts.pkeys, shared)) {
        return misfit(port.lines.pkey != 0 ? port.lines.pkey : port.lines.port,
                      fmt::format("P_Key {} is not in the P_Key table of {}", to_string(port.pkey), port.sm));
    }
    const auto limit = ipoib::mtu_of_link(facts.mtu);
    if (facts.mtu != 0 && datagram_mtu(port) > limit) {
        return misfit(
            port.lines.mtu != 0 ? port.lines.mtu : port.lines.port,
            fmt::format("MTU {} is above the {} that the link of {} allows", datagram_mtu(port), limit, port.sm));
    }
    return {};
}

Outcome GatewayPort::open_devices(const DeviceSetup& setup) {
    if (auto opened = open_link_device(setup); !opened) return opened;
    if (auto decorated = decorate(setup.capture); !decorated) return decorated;
    if (auto opened = open_connections(setup); !opened) return opened;
    return open_kernel_interface(setup);
}

/// The first queues of different ports are different shards'.
pmd::OpenOptions GatewayPort::open_options(const DeviceSetup& setup) const {
    return {.pool = setup.pools,
            .mtu = frame_mtu(port_config_),
            .queues = setup.queues,
            .flows = &setup.flows,
            .sockets = setup.sockets,
            .owner = static_cast<std::uint16_t>(id_),
            .link_layer = port_config_.has_subnet() ? pmd::LinkLayer::infiniband : pmd::LinkLayer::ethernet,
            .pkey = port_config_.pkey};
}

Outcome GatewayPort::open_kernel_interface(const DeviceSetup& setup) {
    auto interface = pmd::Tun::create({.name = name(),
                                       .netns = config_.netns,
                                       .queues = setup.queues,
                                       .mtu = static_cast<std::uint16_t>(port_config_.mtu)},
                                      setup.pools);
    if (!interface) return fault(fmt::format("port {}: {}", name(), interface.error().what));
    interface_ = interface->get();
    auto device = pmd::with_queues(std::move(*interface), open_options(setup));
    if (!device) return fault(fmt::format("port {}: {}", name(), device.error().what));
    kernel_ = std::move(*device);
    return {};
}

GatewayPort::Device GatewayPort::open_one(const DeviceSetup& setup, const std::vector<std::string>& texts,
                                          unsigned line) const {
    std::vector<pmd::DeviceSpec> specs;
    for (const auto& text : texts) {
        auto spec = pmd::parse_device_spec(text);
        if (!spec) return misfit(line, spec.error().what);
        specs.push_back(std::move(*spec));
    }
    // A port with a backup shares its devices with none.
    auto device = port_config_.has_backup() ? pmd::open_devices(specs, name(), open_options(setup), monotonic_now)
                                            : setup.links.open(port_config_, specs, open_options(setup));
    if (device) return std::move(*device);
    auto reason = fmt::format("port {}: {}", name(), device.error().what);
    // What an adapter can be told by its name alone is the configuration's fault.
    const bool adapter = std::holds_alternative<pmd::HcaSpec>(specs.front());
    return adapter ? misfit(line, std::move(reason)) : fault(std::move(reason));
}

Outcome GatewayPort::open_link_device(const DeviceSetup& setup) {
    auto device = open_one(setup, port_config_.devices, port_config_.lines.device);
    if (!device) return std::unexpected(device.error());
    device_ = std::move(*device);
    if (port_config_.has_backup()) {
        if (auto added = add_backup(setup); !added) return added;
    }
    return check_room();
}

Outcome GatewayPort::add_backup(const DeviceSetup& setup) {
    const auto line = port_config_.lines.backup_device;
    auto backup = open_one(setup, port_config_.backup_devices, line);
    if (!backup) return std::unexpected(backup.error());
    std::string both(device_->name());
    auto pair = pmd::ActiveBackup::create(std::move(both), {std::move(device_), std::move(*backup)});
    if (!pair) return misfit(line, fmt::format("port {}: {}", name(), pair.error().what));
    pair_ = pair->get();
    device_ = std::move(*pair);
    return {};
}

/// Frames of the port's MTU must fit: an interface of the kernel's (`eth:`) has an MTU of its own, which is not ours to
/// set; so has an adapter's link.
Outcome GatewayPort::check_room() const {
    const auto& port = port_config_;
    const auto most = device_->capabilities().max_packet;
    if (device_->capabilities().carries == pmd::Carries::datagram) {
        const auto limit = ipoib::mtu_of_link(most);
        if (port.mtu <= limit) return {};
        return misfit(port.lines.mtu != 0 ? port.lines.mtu : port.lines.port,
                      fmt::format("MTU {} is above the {} that the link of {} allows: its datagrams have {} bytes",
                                  port.mtu, limit, port.devices.front(), most));
    }
    if (port.link != IpoibLink::roce_v2) return {};
    const auto needed = std::uint32_t{frame_mtu(port)} + wire::Ethernet::size;
    if (needed <= most) return {};
    return misfit(port.lines.mtu != 0 ? port.lines.mtu : port.lines.port,
                  fmt::format("MTU {} over RoCE takes frames of {} bytes, and {} carries {}", port.mtu, needed,
                              port.devices.front(), most));
}

Outcome GatewayPort::decorate(pmd::CaptureFile* capture) {
    decorated_.emplace(name(), std::move(device_), capture);
    if (!port_config_.impair.empty()) {
        const auto spec = pmd::parse_impairments(port_config_.impair);
        if (!spec) return misfit(port_config_.lines.impair, spec.error().what);
        decorated_->impair(*spec);
    }
    if (!port_config_.capture.empty()) {
        auto file = pmd::CaptureFile::create(port_config_.capture);
        if (!file) return misfit(port_config_.lines.capture, file.error().what);
        decorated_->capture(std::move(*file));
    }
    if (!subnet_) return {};
    for (auto* file : {capture, decorated_->file()})
        if (file != nullptr) subnet_->capture(*file, name());
    return {};
}

void GatewayPort::capture(std::unique_ptr<pmd::CaptureFile> file, router::ShardLinks& shards) {
    if (subnet_ && decorated_->file() != nullptr) subnet_->stop_capture(*decorated_->file());
    if (subnet_ && file) subnet_->capture(*file, name());
    decorated_->capture(std::move(file), decorated_for(shards));
}

/// Connections are above everything that the datagrams pass.
Outcome GatewayPort::open_connections(const DeviceSetup& setup) {
    if (!port_config_.connected) return {};
    const auto refuse = [&](std::string reason) { return misfit(port_config_.lines.mode, std::move(reason)); };
    if (device().capabilities().carries != pmd::Carries::ethernet) {
        return refuse(fmt::format("mode of {}: an adapter's port has no connected mode here; leave it out", name()));
    }
    if (setup.queues != 1) {
        return refuse(fmt::format("mode of {}: connected mode runs on one core; give one by -l", name()));
    }
    auto connections = ipoib::Connections::create({.name = fmt::format("rc{}", static_cast<unsigned>(id_)),
                                                   .device = &device(),
                                                   .pool = setup.pools[0],
                                                   .socket = setup.sockets.front(),
                                                   .datagram_mtu = datagram_mtu(port_config_),
                                                   .start = monotonic_now()});
    if (!connections) return fault(fmt::format("port {}: {}", name(), connections.error().what));
    connections_ = std::move(*connections);
    return {};
}

router::PortSetup GatewayPort::shard_setup() const {
    return {.name = name(),
            .kind = port_config_.type == PortType::ipoib ? router::PortSetup::Kind::ipoib
                                                         : router::PortSetup::Kind::ethernet,
            .device = &device(),
            .kernel = kernel_.get(),
            .mtu = port_config_.mtu,
            .clamp_mss = port_config_.clamp_mss,
            .reverse_path = port_config_.reverse_path,
            .advertises = port_config_.advertise,
            .multicast = port_config_.multicast,
            .connections = connections_.get()};
}

void GatewayPort::start(control::Loop& loop, router::ShardLinks& shards, rte_mempool& pool,
                        const host::Ipv6Gateways& ipv6_gateways, bool forwards) {
    const router::ControlPort::Setup setup{.id = id_,
                                           .name = name(),
                                           .device = &decorated_->device(),
                                           .pool = &pool,
                                           .forwards = forwards,
                                           .multicast = forwards && port_config_.multicast,
                                           .ipv6_gateways = &ipv6_gateways,
                                           .advertises = port_config_.advertise,
                                           .mtu = datagram_mtu(port_config_),
                                           .neighbours = port_neighbours(config_.limits),
                                           .virtual_addresses = port_config_.virtual_addresses};
    bond_ = Bond::find(decorated_->device().name());
    if (bond_) {
        member_ = bond_->active();
        announcements_.emplace(loop, [this] { port_->announce(); });
    }
    const wire::Qpn qpn{ipoib::first_qpn + static_cast<std::uint32_t>(id_)};
    if (subnet_) {
        auto made = std::make_unique<router::IpoibPort>(loop, shards, setup,
                                                        router::IpoibPort::Link{.pkey = port_config_.pkey,
                                                                                .qpn = qpn,
                                                                                .mtu = port_config_.mtu,
                                                                                .connections = connections_.get(),
                                                                                .shows_agent = first_of_subnet_},
                                                        subnet_->agent());
        ipoib_ = made.get();
        port_ = std::move(made);
        if (pair_ != nullptr) failover_.emplace(loop, *pair_, *subnet_->pair(), [this] { port_->announce(); });
        return;
    }
    const auto mac = device().mac().value_or(router::derived_mac(config_.name, name()));
    if (port_config_.type == PortType::ipoib) {
        auto made = std::make_unique<router::RoceIpoibPort>(loop, shards, setup, mac, qpn, port_config_.pkey);
        roce_ = made.get();
        port_ = std::move(made);
    } else {
        auto made = std::make_unique<router::EthernetPort>(loop, shards, setup, mac);
        ethernet_ = made.get();
        port_ = std::move(made);
    }
}

std::string_view GatewayPort::active() const {
    if (!failover_) return member_;
    return failover_->active() == 0 ? "primary" : "backup";
}

void GatewayPort::change(Setting setting, router::ShardLinks& shards) {
    switch (setting) {
        case Setting::clamp_mss:
        case Setting::reverse_path:
            return shards.send(router::SetChecks{id_, port_config_.clamp_mss, port_config_.reverse_path});
        case Setting::virtual_address: return port_->set_virtual_addresses(port_config_.virtual_addresses);
        case Setting::advertise: return port_->set_advertises(port_config_.advertise);
        case Setting::impair: return impair(shards);
        case Setting::capture:       // prepared before
        case Setting::proxy:         // of control/router/proxying.h
        case Setting::multicast:     // of multicast.h
        case Setting::dhcp_relay:    // of dhcp_relays.h
        case Setting::dhcpv6_relay:  // likewise
            return;
    }
}

/// The text has been checked.
void GatewayPort::impair(router::ShardLinks& shards) {
    std::optional<pmd::ImpairSpec> spec;
    if (const auto parsed = pmd::parse_impairments(port_config_.impair); !port_config_.impair.empty() && parsed)
        spec = *parsed;
    decorated_->impair(spec, decorated_for(shards));
}

void GatewayPort::retire() {
    if (port_) port_->retire();
}

void GatewayPort::leave() {
    failover_.reset();
    announcements_.reset();
    ipoib_ = nullptr;
    ethernet_ = nullptr;
    roce_ = nullptr;
    port_.reset();
}

/// Hosts, and the switches on the way to them, hear by the member that is used now where we are.
void GatewayPort::follow_bond() {
    auto member = bond_->active();
    if (member == member_) return;
    member_ = std::move(member);
    port_->announce();
    announcements_->begin();
}

bool GatewayPort::upkeep(router::ShardLinks& shards) {
    decorated_->upkeep(decorated_for(shards));
    bool link = decorated_->device().link_up();
    if (failover_) {
        failover_->look();
        link = pair_->member_link(failover_->active());
    }
    if (announcements_) follow_bond();
    port_->set_carrier(link);
    if (std::exchange(shown_carrier_, link) == link) return false;
    // Before Linux 5.0 there is no way to say it; routing daemons then find out by their own hellos.
    return interface_->set_carrier(link).has_value();
}

}  // namespace verbline::gateway
