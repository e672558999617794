// SPDX-License-Identifier: BSD-3-Clause
#include "control/router/ipoib_port.h"

#include <utility>

namespace verbline::router {

IpoibPort::IpoibPort(control::Loop& loop, ShardLinks& shards, const Setup& setup, const Link& link, sa::Agent& agent)
    : ControlPort(loop, shards, setup, wire::IpoibAddress{}),
      link_(link),
      agent_(agent),
      connector_(link.connections != nullptr ? std::make_unique<ipoib::Connector>(loop, connector_setup()) : nullptr),
      subnet_(loop, agent, subnet_setup()) {
    subnet_.start();
}

ipoib::Connector::Setup IpoibPort::connector_setup() {
    return {.connections = link_.connections,
            .wake = [this] { shards()[0].shard_signal().interrupt(); },
            .close = [this](auto number) { shards().send(CloseConnection{id(), number}); },
            .wanted = [this](const auto& neighbour) { return uses(neighbour); },
            .lost = [this](const auto& neighbour) { locate_again(neighbour, true); },
            .found = [this](const auto& neighbour) { locate_again(neighbour, false); },
            .trouble = [this](const std::string& trouble) { on_trouble_(trouble); }};
}

wire::IpoibAddress IpoibPort::address() const {
    auto address = subnet_.address();
    if (connector_ != nullptr) address.flags = wire::IpoibAddress::connected_rc;
    return address;
}

void IpoibPort::reach(const neighbour::LinkAddress& hardware, wire::EtherType type, Located located) {
    const auto& neighbour = std::get<wire::IpoibAddress>(hardware);
    if (connector_ == nullptr || (neighbour.flags & wire::IpoibAddress::connected_rc) == 0)
        return locate(hardware, type, std::move(located));
    subnet_.resolve(neighbour, [this, neighbour, type, located = std::move(located)](const wire::PathRecord& path) {
        connector_->find(neighbour, path, [this, path, neighbour, type, located](ipoib::ConnectionNumber connection) {
            auto to = subnet_.destination_by(path, neighbour.qpn, type);
            to.connection = connection;
            located(to);
        });
    });
}

void IpoibPort::retire() {
    ControlPort::retire();
    if (connector_ != nullptr) connector_->retire();
}

ipoib::SubnetPort::Setup IpoibPort::subnet_setup() {
    return {.pkey = link_.pkey,
            .qpn = link_.qpn,
            .device = &device(),
            .identify =
                [this](const auto& identity) {
                    shards().send(SetIpoib{id(), identity});
                    if (connector_ != nullptr) connector_->set_identity(identity);
                },
            .attach = [this](const auto& group) { shards().send(AttachGroup{id(), group}); },
            .detach = [this](const auto& group) { shards().send(DetachGroup{id(), group}); },
            .up = [this] { link_is_up(address()); },
            .down = [this] { link_is_down(); },
            .paths_changed = [this] { locate_all(); },
            .located = [this](const wire::Gid& group,
                              const link::Destination& to) { shards().send(SetNeighbour{id(), group, to}); },
            .unreachable =
                [this](const wire::Gid& group) {
                    shards().send(FailNeighbour{id(), group});
                    shards().send(ForgetNeighbour{id(), group});
                },
            .groups_changed = [this] { groups_changed_(); },
            .send = [this](wire::Bytes packet, const link::Destination& to) { transmit(packet, to); },
            .trouble = [this](const std::string& trouble) { on_trouble_(trouble); }};
}

/// Carrier does not change the subnet membership, but announcements made while it was down were lost, and an adapter
/// that has been away has another queue pair.
void IpoibPort::carrier_changed() {
    if (!carrier()) return;
    subnet_.device_returned();
    announce();
}

void IpoibPort::locate(const neighbour::LinkAddress& hardware, wire::EtherType type, Located located) {
    subnet_.locate(std::get<wire::IpoibAddress>(hardware), type, std::move(located));
}

void IpoibPort::send_to_group(const wire::Gid& group, std::vector<std::byte> packet) {
    subnet_.send_to_group(group, std::move(packet));
}

void IpoibPort::resolve_group(const wire::Gid& group, bool routed) {
    if (routed) {
        subnet_.memberships().send(group, true);
    } else {
        subnet_.memberships().resolve(group);
    }
}

void IpoibPort::counters(const CounterVisitor& visit) const {
    ControlPort::counters(visit);
    subnet_.counters(visit);
    if (connector_ != nullptr) connector_->counters(visit);
    if (link_.shows_agent) agent_.counters(visit);
}

}  // namespace verbline::router
