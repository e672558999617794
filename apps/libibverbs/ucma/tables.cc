// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/ucma/tables.h"

#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "control/cm/state_name.h"
#include "control/telemetry/counters.h"
#include "datapath/link/ip_gid.h"
#include "datapath/wire/text.h"

namespace verbline::verbs {
namespace {

using rdmacm::PortSpace;
using telemetry::Json;

const char* name(PortSpace space) {
    switch (space) {
        case PortSpace::ipoib: return "ipoib";
        case PortSpace::tcp: return "tcp";
        case PortSpace::udp: return "udp";
        case PortSpace::ib: return "ib";
    }
    return "";
}

std::string text(const rdmacm::SocketAddress& address) {
    if (const auto ipv4 = link::ipv4_of(address.gid); ipv4 && address.family == rdmacm::Family::ipv4)
        return fmt::format("{}:{}", wire::to_string(*ipv4), address.port);
    return fmt::format("[{}]:{}", wire::to_string(address.gid), address.port);
}

std::string hexadecimal(cm::CommunicationId id) {
    return fmt::format("{:#x}", static_cast<std::uint32_t>(id));
}

/// An endpoint that no id of the program has: its user has dropped it and it closes, or it waits for room in a backlog.
Json background_row(const cm::Manager::Shown& endpoint, Time now) {
    const auto port = rdmacm::port_of(endpoint.service);
    const auto family = link::ipv4_of(endpoint.peer) ? rdmacm::Family::ipv4 : rdmacm::Family::ipv6;
    return {
        {"id", 0},
        {"space", port ? name(port->first) : ""},
        {"state", cm::state_name(endpoint.state)},
        {"local", hexadecimal(endpoint.local)},
        {"remote", hexadecimal(endpoint.remote)},
        {"source", ""},
        {"destination", text({.family = family, .gid = endpoint.peer, .port = port ? port->second : std::uint16_t{0}})},
        {"qpn", static_cast<std::uint32_t>(endpoint.local_qpn)},
        {"peer_qpn", static_cast<std::uint32_t>(endpoint.remote_qpn)},
        {"retries", endpoint.retries},
        {"age_s", (now - endpoint.since) / second}};
}

}  // namespace

Json cm_table(const rdmacm::Service& service, Networks ports, Time now) {
    std::unordered_map<std::uint32_t, cm::Manager::Shown> endpoints;
    for (const auto& port : ports)
        for (const auto& shown : port->manager().show())
            endpoints.emplace(static_cast<std::uint32_t>(shown.local), shown);
    auto rows = Json::array();
    for (const auto& id : service.show()) {
        const auto found = endpoints.find(static_cast<std::uint32_t>(id.local));
        const auto endpoint = found != endpoints.end() ? found->second : cm::Manager::Shown{};
        rows.push_back({{"id", static_cast<std::uint32_t>(id.id)},
                        {"space", name(id.space)},
                        {"state", id.state},
                        {"local", hexadecimal(id.local)},
                        {"remote", hexadecimal(endpoint.remote)},
                        {"source", text(id.source)},
                        {"destination", text(id.destination)},
                        {"qpn", static_cast<std::uint32_t>(endpoint.local_qpn)},
                        {"peer_qpn", static_cast<std::uint32_t>(endpoint.remote_qpn)},
                        {"retries", endpoint.retries},
                        {"age_s", (now - id.since) / second}});
        if (found != endpoints.end()) endpoints.erase(found);
    }
    for (const auto& [local, endpoint] : endpoints)
        if (endpoint.state != cm::ConnectionState::listen) rows.push_back(background_row(endpoint, now));
    return rows;
}

Json counter_table(const rdmacm::Service& service, Networks ports) {
    telemetry::CounterRows rows;
    service.counters(rows.of("rdma_cm"));
    for (const auto& port : ports) port->counters(rows.of(port->facts().name));
    return std::move(rows).take();
}

}  // namespace verbline::verbs
