// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/launch/first_facts.h"

#include <net/if.h>

#include "apps/libibverbs/namespace/gid_facts.h"
#include "apps/libibverbs/namespace/proposed_address.h"
#include "apps/libibverbs/settings/fabric_port.h"
#include "control/host/kernel_neighbour.h"
#include "control/hub/identity.h"
#include "datapath/link/gid_table.h"

namespace verbline::verbs {
namespace {

void describe_fabric_port(const Result<mad::PortFacts>& port, DeviceFacts& facts) {
    facts.active = port && port->active();
    if (!port) return;
    facts.node_guid = port->node_guid;
    facts.lid = port->lid;
    facts.sm_lid = port->sm_lid;
    facts.lmc = port->lmc;
    facts.sm_sl = port->sm_sl;
    facts.capabilities = port->capabilities;
    facts.gids = {{.gid = port->gid(), .type = GidType::infiniband_or_roce_v1, .interface = {}}};
    if (!port->pkeys.empty()) facts.pkeys = port->pkeys;
}

/// As the port will do with the same addresses.
void describe_ethernet_port(const Link& link, std::vector<InterfaceAddress> addresses, wire::MacAddress mac,
                            DeviceFacts& facts) {
    unsigned ifindex = if_nametoindex("lo");
    if (const auto* const ethernet = std::get_if<pmd::EthernetSpec>(&link)) {
        facts.interface = ethernet->interface;
        if (const auto kernel = host::kernel_addresses(ethernet->interface)) {
            ifindex = kernel->ifindex;
            mac = kernel->mac;
            if (addresses.empty()) addresses = kernel->addresses;
        }
    }
    if (const auto* const node = std::get_if<NodeLink>(&link)) {
        if (const auto port = hub::read_identity(node->name)) {
            mac = port->mac;
            addresses = port->addresses;
        }
    }
    link::GidTable gids(link::GidTable::Kind::roce);
    gids.add_interface(ifindex, mac);
    for (const auto& address : addresses) gids.add_address(ifindex, address.gid);
    facts.capabilities = ethernet_capabilities;
    facts.node_guid = guid_of(mac);
    facts.gids = gids_of(gids);
}

}  // namespace

std::vector<DeviceFacts> first_facts(const Settings& settings, const wire::MacAddress& own_mac) {
    std::vector<DeviceFacts> all;
    auto addresses = settings.addresses;
    const auto names = device_names(settings.links);
    for (std::size_t i = 0; i < names.size(); ++i) {
        const auto& link = settings.links[i];
        const auto fabric = fabric_of(link);
        DeviceFacts facts{.name = names[i],
                          .index = static_cast<unsigned>(i),
                          .infiniband = fabric.has_value(),
                          .active = true,
                          .gigabits = usual_gigabits,
                          .lanes = usual_lanes,
                          .gids = {},
                          .interface = {},
                          .firmware = VERBLINE_VERSION,
                          .board = std::string(board_name),
                          .counters = {},
                          .hw_counters = {}};
        if (fabric) {
            const auto* const node = std::get_if<NodeLink>(&link);
            describe_fabric_port(node != nullptr ? fabric_port(*node) : fabric_port(*fabric), facts);
        } else {
            describe_ethernet_port(link, std::exchange(addresses, {}), own_mac, facts);
        }
        all.push_back(std::move(facts));
    }
    return all;
}

}  // namespace verbline::verbs
