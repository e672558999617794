// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/hca/flow_rules.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <arpa/inet.h>
#include <fmt/format.h>

#include "datapath/wire/bytes.h"
#include "datapath/wire/ipoib.h"
#include "datapath/wire/text.h"
#include "pmd/hca/extended_verbs.h"

namespace verbline::pmd::hca {
namespace {

/// A rule as the device takes it: the attributes, and its parts right behind them.
template <class IpPart>
struct FlowRequest {
    ibv_flow_attr attributes;
    IpPart ip;
    ibv_flow_spec_tcp_udp transport;
};
using Ipv4Request = FlowRequest<ibv_flow_spec_ipv4>;
using Ipv6Request = FlowRequest<ibv_flow_spec_ipv6>;
static_assert(sizeof(Ipv4Request) ==
              sizeof(ibv_flow_attr) + sizeof(ibv_flow_spec_ipv4) + sizeof(ibv_flow_spec_tcp_udp));
static_assert(sizeof(Ipv6Request) ==
              sizeof(ibv_flow_attr) + sizeof(ibv_flow_spec_ipv6) + sizeof(ibv_flow_spec_tcp_udp));

Ipv4Request request_of(const wire::Ipv4Prefix& destination) {
    Ipv4Request request{};
    request.ip.type = IBV_FLOW_SPEC_IPV4;
    request.ip.val.dst_ip = htonl(static_cast<std::uint32_t>(destination.network()));
    request.ip.mask.dst_ip = htonl(destination.mask());
    return request;
}

Ipv6Request request_of(const wire::Ipv6Prefix& destination) {
    Ipv6Request request{};
    request.ip.type = IBV_FLOW_SPEC_IPV6;
    wire::Ipv6Address all;
    all.bytes.fill(std::byte{0xff});
    const auto network = destination.network(), mask = wire::Ipv6Prefix{all, destination.length}.network();
    std::memcpy(request.ip.val.dst_ip, network.bytes.data(), network.bytes.size());
    std::memcpy(request.ip.mask.dst_ip, mask.bytes.data(), mask.bytes.size());
    return request;
}

std::string name_of(const FlowMatch& match) {
    const auto destination = std::visit([](const auto& prefix) { return wire::to_string(prefix); }, match.destination);
    const auto* const transport = !match.transport ? "" : *match.transport == FlowTransport::tcp ? "TCP " : "UDP ";
    return fmt::format("{}packets to {}", transport, destination);
}

}  // namespace

std::vector<FlowMatch> flows_to(wire::Ipv4Address address) {
    return {{.destination = wire::Ipv4Prefix{address, 32}}};
}

std::vector<FlowMatch> flows_to(const wire::Ipv6Address& address) {
    const wire::Ipv6Prefix destination{address, 128};
    return {{.destination = destination, .transport = FlowTransport::tcp},
            {.destination = destination, .transport = FlowTransport::udp}};
}

std::optional<FlowMatch> flow_of_group(const wire::Gid& mgid) {
    if (wire::load16(mgid.bytes, 2) != wire::ipoib_ipv4_signature) return std::nullopt;
    const wire::Ipv4Address group{0xe000'0000u | wire::load32(mgid.bytes, 12)};
    if (!wire::is_multicast(group)) return std::nullopt;  // broadcast
    return FlowMatch{.destination = wire::Ipv4Prefix{group, 32}};
}

Result<void> FlowRules::enforce(Rule& rule) const {
    const auto make = [&](auto request) {
        request.ip.size = sizeof request.ip;
        request.attributes.type = IBV_FLOW_ATTR_NORMAL;
        request.attributes.port = port_;
        request.attributes.num_of_specs = 1;
        request.attributes.size = sizeof request.attributes + sizeof request.ip;
        if (rule.match.transport) {
            request.transport.type =
                *rule.match.transport == FlowTransport::tcp ? IBV_FLOW_SPEC_TCP : IBV_FLOW_SPEC_UDP;
            request.transport.size = sizeof request.transport;
            request.attributes.num_of_specs = 2;
            request.attributes.size = sizeof request;
        }
        return create_flow(verbs_, queue_pair_, request.attributes);
    };
    rule.flow = {std::visit([&](const auto& prefix) { return make(request_of(prefix)); }, rule.match.destination),
                 {destroy_flow}};
    if (rule.flow) return {};
    const int error = verbs_.error();
    return failure(error, fmt::format("RDMA device {} has no rule for {}: {}{}", queue_pair_.context->device->name,
                                      name_of(rule.match), std::strerror(error),
                                      error == EPERM || error == EACCES ? "; run as root, or with CAP_NET_RAW" : ""));
}

Result<void> FlowRules::add(const FlowMatch& match) {
    if (std::ranges::find(rules_, match, &Rule::match) != rules_.end()) return {};
    Rule rule{.match = match, .flow = {}};
    if (started_) {
        if (auto done = enforce(rule); !done) return done;
    }
    rules_.push_back(std::move(rule));
    return {};
}

void FlowRules::remove(const FlowMatch& match) {
    std::erase_if(rules_, [&](const auto& rule) { return rule.match == match; });
}

unsigned FlowRules::start() {
    stop();
    unsigned refused = 0;
    for (auto& rule : rules_) {
        if (!enforce(rule)) ++refused;
    }
    started_ = true;
    return refused;
}

void FlowRules::stop() {
    for (auto& rule : rules_) rule.flow.reset();
    started_ = false;
}

}  // namespace verbline::pmd::hca
