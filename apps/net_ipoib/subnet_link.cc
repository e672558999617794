// SPDX-License-Identifier: BSD-3-Clause
#include "apps/net_ipoib/subnet_link.h"

#include <utility>

namespace verbline::net_ipoib {

SubnetLink::SubnetLink(control::Loop& loop, sa::Agent& agent, const Setup& setup)
    : port_(loop, agent,
            {.pkey = setup.pkey,
             .qpn = setup.qpn,
             .device = setup.device,
             .identify = setup.identify,
             .attach = setup.attach,
             .detach = setup.detach,
             .up = setup.up,
             .down = setup.down,
             .paths_changed = setup.paths_changed,
             .located = setup.located,
             .unreachable = setup.unreachable,
             .groups_changed = setup.groups_changed,
             .send = setup.send,
             .trouble = [log = setup.log](const std::string& trouble) {
                 log(trouble.empty() ? "the port is in the broadcast group" : trouble);
             }}) {}

/// An adapter that has been away has another queue pair.
void SubnetLink::carrier_changed(bool carrier) {
    if (carrier) port_.device_returned();
}

void SubnetLink::find(const wire::IpoibAddress& host, std::function<void(const Way&)> found) {
    port_.resolve(host, [this, qpn = host.qpn, found = std::move(found)](const wire::PathRecord& path) {
        const auto ipv4 = port_.destination_by(path, qpn, wire::ether_type::ipv4);
        found({.ipv4 = ipv4,
               .ipv6 = port_.destination_by(path, qpn, wire::ether_type::ipv6),
               .sender = {.lid = ipv4.address.dlid, .qpn = qpn}});
    });
}

}  // namespace verbline::net_ipoib
