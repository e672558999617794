// SPDX-License-Identifier: BSD-3-Clause
#include "control/router/roce_ipoib_port.h"

namespace verbline::router {

RoceIpoibPort::RoceIpoibPort(control::Loop& loop, ShardLinks& shards, const Setup& setup, wire::MacAddress mac,
                             wire::Qpn qpn, wire::PKey pkey)
    : ControlPort(loop, shards, setup, wire::IpoibAddress{}),
      link_({.mac = mac,
             .qpn = qpn,
             .pkey = pkey,
             .device = &device(),
             .identify = [this](const auto& identity) { this->shards().send(SetIpoib{id(), identity}); },
             .attach = [this](const auto& group) { this->shards().send(AttachGroup{id(), group}); },
             .up = [this] { link_is_up(link_.address()); },
             .down = [this] { link_is_down(); }}) {}

void RoceIpoibPort::locate(const neighbour::LinkAddress& hardware, wire::EtherType type, Located located) {
    if (const auto to = link_.locate(std::get<wire::IpoibAddress>(hardware), type)) located(*to);
}

void RoceIpoibPort::counters(const CounterVisitor& visit) const {
    ControlPort::counters(visit);
    link_.counters(visit);
}

}  // namespace verbline::router
