// SPDX-License-Identifier: BSD-3-Clause
#include "control/router/ipoib_port.h"

#include <utility>

namespace verbline::router {

IpoibPort::IpoibPort(control::Loop& loop, ShardLinks& shards, const Setup& setup, const Link& link, sa::Agent& agent)
    : ControlPort(loop, shards, setup, wire::IpoibAddress{}),
      link_(link),
      agent_(agent),
      subnet_(loop, agent, subnet_setup()) {
    subnet_.start();
}

ipoib::SubnetPort::Setup IpoibPort::subnet_setup() {
    return {.pkey = link_.pkey,
            .qpn = link_.qpn,
            .device = &device(),
            .identify = [this](const auto& identity) { shards().send(SetIpoib{id(), identity}); },
            .attach = [this](const auto& group) { shards().send(AttachGroup{id(), group}); },
            .detach = [this](const auto& group) { shards().send(DetachGroup{id(), group}); },
            .up = [this] { link_is_up(subnet_.address()); },
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
    if (link_.shows_agent) agent_.counters(visit);
}

}  // namespace verbline::router
