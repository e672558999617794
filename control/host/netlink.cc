// SPDX-License-Identifier: BSD-3-Clause
#include "control/host/netlink.h"

#include <chrono>
#include <concepts>
#include <cstring>

#include <linux/if.h>
#include <netlink/addr.h>
#include <netlink/attr.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <netlink/route/nexthop.h>
#include <netlink/route/route.h>
#include <poll.h>

#include <arpa/inet.h>
#include <fmt/format.h>

#include "control/host/netlink_message.h"
#include "datapath/link/ip_gid.h"
#include "datapath/wire/text.h"

namespace verbline::host {

namespace {

using NlAddress = std::unique_ptr<nl_addr, Release<nl_addr_put>>;
using RtnlAddress = std::unique_ptr<rtnl_addr, Release<rtnl_addr_put>>;
using RtnlLink = std::unique_ptr<rtnl_link, Release<rtnl_link_put>>;
using RtnlRoute = std::unique_ptr<rtnl_route, Release<rtnl_route_put>>;

std::unexpected<Error> out_of_memory(const std::string& what) {
    return failure(ENOMEM, what + ": out of memory");
}

/// Runs one of libnl's message builders, whose last argument receives the message.
template <class Build>
Result<NetlinkMessage> build(const std::string& what, Build builder) {
    nl_msg* message = nullptr;
    if (const int e = builder(&message); e < 0) return std::unexpected(netlink_error(e, what));
    return NetlinkMessage(message);
}

NlAddress nl_address(wire::Ipv4Address address, std::uint8_t length) {
    const std::uint32_t bytes = htonl(static_cast<std::uint32_t>(address));
    NlAddress built(nl_addr_build(AF_INET, &bytes, sizeof(bytes)));
    if (built) nl_addr_set_prefixlen(built.get(), length);
    return built;
}

NlAddress nl_address(const wire::Ipv6Address& address, std::uint8_t length) {
    NlAddress built(nl_addr_build(AF_INET6, address.bytes.data(), address.bytes.size()));
    if (built) nl_addr_set_prefixlen(built.get(), length);
    return built;
}

NlAddress nl_address(const link::InterfaceAddress& address) {
    if (const auto ipv4 = link::ipv4_of(address.gid)) return nl_address(*ipv4, address.length);
    return nl_address(link::ipv6_of(address.gid), address.length);
}

/// Null: out of memory.
RtnlAddress rtnl_address(int ifindex, const link::InterfaceAddress& address) {
    RtnlAddress built(rtnl_addr_alloc());
    const auto local = nl_address(address);
    if (!built || !local) return nullptr;
    rtnl_addr_set_ifindex(built.get(), ifindex);
    rtnl_addr_set_local(built.get(), local.get());
    return built;
}

/// False: out of memory.
template <class Address>
bool set_gateway(rtnl_nexthop& nexthop, const BasicHop<Address>& hop) {
    if (hop.gateway != Address{}) {
        const auto gateway = nl_address(hop.gateway, address_bits<Address>);
        if (gateway) rtnl_route_nh_set_gateway(&nexthop, gateway.get());
        return gateway != nullptr;
    }
    if (!hop.ipv6_gateway) return true;
    const auto gateway = nl_address(*hop.ipv6_gateway, address_bits<wire::Ipv6Address>);
    return gateway != nullptr && rtnl_route_nh_set_via(&nexthop, gateway.get()) == 0;
}

/// Null: out of memory.
template <class Address>
RtnlRoute rtnl_route_of(const BasicRoute<Address>& route) {
    RtnlRoute built(rtnl_route_alloc());
    const auto destination = nl_address(route.prefix.address, route.prefix.length);
    if (!built || !destination) return nullptr;
    rtnl_route_set_family(built.get(), std::same_as<Address, wire::Ipv4Address> ? AF_INET : AF_INET6);
    rtnl_route_set_dst(built.get(), destination.get());
    rtnl_route_set_table(built.get(), route.table);
    rtnl_route_set_priority(built.get(), route.metric);
    rtnl_route_set_tos(built.get(), route.tos);
    rtnl_route_set_type(built.get(), route.type);
    rtnl_route_set_protocol(built.get(), route.protocol);
    for (const auto& hop : route.hops) {
        auto* const nexthop = rtnl_route_nh_alloc();
        if (nexthop == nullptr) return nullptr;
        rtnl_route_add_nexthop(built.get(), nexthop);  // the route's from here on
        rtnl_route_nh_set_ifindex(nexthop, hop.ifindex);
        if (!set_gateway(*nexthop, hop)) return nullptr;
    }
    return built;
}

constexpr std::uint32_t host_route_metric = 4096;
constexpr std::uint8_t host_route_protocol = 78;  ///< a number of its own, by which `ip route` shows whose it is

/// Null: out of memory.
RtnlRoute rtnl_host_route(int ifindex, const wire::Gid& host) {
    RtnlRoute built(rtnl_route_alloc());
    const bool ipv4 = link::ipv4_of(host).has_value();
    const auto destination = nl_address(link::InterfaceAddress{host, static_cast<std::uint8_t>(ipv4 ? 32 : 128)});
    if (!built || !destination) return nullptr;
    rtnl_route_set_family(built.get(), ipv4 ? AF_INET : AF_INET6);
    rtnl_route_set_dst(built.get(), destination.get());
    rtnl_route_set_table(built.get(), RT_TABLE_MAIN);
    rtnl_route_set_priority(built.get(), host_route_metric);
    rtnl_route_set_protocol(built.get(), host_route_protocol);
    auto* const nexthop = rtnl_route_nh_alloc();
    if (nexthop == nullptr) return nullptr;
    rtnl_route_nh_set_ifindex(nexthop, ifindex);
    rtnl_route_add_nexthop(built.get(), nexthop);
    return built;
}

template <class Address>
std::string described(const BasicRoute<Address>& route) {
    auto text = wire::to_string(route.prefix);
    for (const auto& hop : route.hops) {
        if (hop.gateway != Address{}) text += " via " + wire::to_string(hop.gateway);
        if (hop.ipv6_gateway) text += " via " + wire::to_string(*hop.ipv6_gateway);
    }
    return text;
}

/// Result in the kernel's NLMSG_ERROR: success, or its errno and, if present, its extended ACK text.
Result<void> verdict_of(nlmsghdr& message, const std::string& what) {
    if (nlmsg_datalen(&message) < static_cast<int>(sizeof(nlmsgerr))) {
        return failure(EPROTO, what + ": the kernel's answer is truncated");
    }
    const int code = -static_cast<const nlmsgerr*>(nlmsg_data(&message))->error;
    if (code == 0) return {};
    std::string reason = std::strerror(code);
    if ((message.nlmsg_flags & NLM_F_ACK_TLVS) != 0) {
        const auto* text = nlmsg_find_attr(&message, sizeof(nlmsgerr), NLMSGERR_ATTR_MSG);
        if (text != nullptr)
            reason.assign(static_cast<const char*>(nla_data(text)),
                          strnlen(static_cast<const char*>(nla_data(text)), nla_len(text)));
    }
    if (code == EPERM) reason += " (needs CAP_NET_ADMIN: run as root)";
    return failure(code, what + ": " + reason);
}

int remaining_milliseconds(std::chrono::steady_clock::time_point deadline) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    return left.count() > 0 ? static_cast<int>(left.count()) : 0;
}

}  // namespace

Result<Netlink> Netlink::open(const std::string& netns, Time limit) {
    auto socket = NetlinkSocket::open(netns);
    if (!socket) return std::unexpected(socket.error());
    return Netlink(std::move(*socket), limit);
}

Result<void> Netlink::request(nl_msg& message, const std::string& what, const Each& each) {
    const auto sequence = socket_.send(message);
    if (!sequence) return std::unexpected(sequence.error());
    return answer(*sequence, what, each);
}

Result<void> Netlink::answer(std::uint32_t sequence, const std::string& what, const Each& each) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::nanoseconds(limit_);
    std::optional<Result<void>> verdict;
    const auto hear = [&](nlmsghdr& message) {
        if (!socket_.answers(message, sequence)) return;  // late answer to a request that has timed out
        if (message.nlmsg_type == NLMSG_DONE) {
            verdict = Result<void>{};
        } else if (message.nlmsg_type == NLMSG_ERROR) {
            verdict = verdict_of(message, what);
        } else {
            each(message);
        }
    };
    while (!verdict) {
        const auto outcome = socket_.receive(hear);
        if (!outcome) return std::unexpected(outcome.error());
        if (*outcome == NetlinkSocket::Outcome::lost) return failure(ENOBUFS, what + ": the kernel's answer was lost");
        if (*outcome == NetlinkSocket::Outcome::read) continue;
        pollfd ready{.fd = socket_.fd(), .events = POLLIN};
        const int left = remaining_milliseconds(deadline);
        if (left == 0 || poll(&ready, 1, left) == 0) return failure(ETIMEDOUT, what + ": the kernel did not answer");
    }
    return *verdict;
}

Result<Link> Netlink::link(std::string_view name) {
    const auto what = fmt::format("no interface {}", name);
    auto message =
        build(what, [&](nl_msg** out) { return rtnl_link_build_get_request(0, std::string(name).c_str(), out); });
    if (!message) return std::unexpected(message.error());
    Link found;
    const auto done = request(**message, what, [&](nlmsghdr& answer) {
        auto event = parse_kernel_message(answer, true);
        if (!event) return;
        if (const auto* changed = std::get_if<LinkChanged>(&*event)) found = changed->link;
    });
    if (!done) return std::unexpected(done.error());
    return found;
}

Result<void> Netlink::set_up(int ifindex, bool up) {
    const auto what = std::string("cannot set it ") + (up ? "up" : "down");
    const RtnlLink same(rtnl_link_alloc()), changes(rtnl_link_alloc());
    if (!same || !changes) return out_of_memory(what);
    rtnl_link_set_ifindex(same.get(), ifindex);
    if (up) {
        rtnl_link_set_flags(changes.get(), IFF_UP);
    } else {
        rtnl_link_unset_flags(changes.get(), IFF_UP);
    }
    auto message =
        build(what, [&](nl_msg** out) { return rtnl_link_build_change_request(same.get(), changes.get(), 0, out); });
    return message ? request(**message, what) : std::unexpected(message.error());
}

Result<void> Netlink::set_mtu(int ifindex, std::uint32_t mtu) {
    const auto what = fmt::format("cannot set the MTU to {}", mtu);
    const RtnlLink same(rtnl_link_alloc()), changes(rtnl_link_alloc());
    if (!same || !changes) return out_of_memory(what);
    rtnl_link_set_ifindex(same.get(), ifindex);
    rtnl_link_set_mtu(changes.get(), mtu);
    auto message =
        build(what, [&](nl_msg** out) { return rtnl_link_build_change_request(same.get(), changes.get(), 0, out); });
    return message ? request(**message, what) : std::unexpected(message.error());
}

Result<void> Netlink::set_running(int ifindex, bool running) {
    const auto what = std::string("cannot say that it is ") + (running ? "running" : "not running");
    const RtnlLink same(rtnl_link_alloc()), changes(rtnl_link_alloc());
    if (!same || !changes) return out_of_memory(what);
    rtnl_link_set_ifindex(same.get(), ifindex);
    // The kernel takes no IF_OPER_DOWN; it finds that out itself, later, by the carrier.
    rtnl_link_set_operstate(changes.get(), running ? IF_OPER_UP : IF_OPER_DORMANT);
    auto message =
        build(what, [&](nl_msg** out) { return rtnl_link_build_change_request(same.get(), changes.get(), 0, out); });
    return message ? request(**message, what) : std::unexpected(message.error());
}

Result<void> Netlink::add_address(int ifindex, const link::InterfaceAddress& address) {
    const auto what = "cannot add address " + link::to_string(address);
    const auto object = rtnl_address(ifindex, address);
    if (!object) return out_of_memory(what);
    auto message = build(what, [&](nl_msg** out) {
        return rtnl_addr_build_add_request(object.get(), NLM_F_CREATE | NLM_F_REPLACE, out);
    });
    return message ? request(**message, what) : std::unexpected(message.error());
}

Result<void> Netlink::remove_address(int ifindex, const link::InterfaceAddress& address) {
    const auto what = "cannot remove address " + link::to_string(address);
    const auto object = rtnl_address(ifindex, address);
    if (!object) return out_of_memory(what);
    auto message = build(what, [&](nl_msg** out) { return rtnl_addr_build_delete_request(object.get(), 0, out); });
    return message ? request(**message, what) : std::unexpected(message.error());
}

template <class Address>
Result<void> Netlink::replace_route(const BasicRoute<Address>& route) {
    const auto what = "cannot add the route to " + described(route);
    const auto object = rtnl_route_of(route);
    if (!object) return out_of_memory(what);
    auto message = build(what, [&](nl_msg** out) {
        return rtnl_route_build_add_request(object.get(), NLM_F_CREATE | NLM_F_REPLACE, out);
    });
    return message ? request(**message, what) : std::unexpected(message.error());
}

template <class Address>
Result<void> Netlink::remove_route(const BasicRoute<Address>& route) {
    const auto what = "cannot remove the route to " + described(route);
    const auto object = rtnl_route_of(route);
    if (!object) return out_of_memory(what);
    return remove(*object, what);
}

Result<void> Netlink::remove(rtnl_route& route, const std::string& what) {
    auto message = build(what, [&](nl_msg** out) { return rtnl_route_build_del_request(&route, 0, out); });
    if (!message) return std::unexpected(message.error());
    const auto done = request(**message, what);
    if (!done && done.error().code == ESRCH) return {};
    return done;
}

Result<void> Netlink::add_host_route(int ifindex, const wire::Gid& host) {
    const auto what = "cannot add the route to " + wire::to_string(host);
    const auto object = rtnl_host_route(ifindex, host);
    if (!object) return out_of_memory(what);
    auto message = build(what, [&](nl_msg** out) {
        return rtnl_route_build_add_request(object.get(), NLM_F_CREATE | NLM_F_REPLACE, out);
    });
    return message ? request(**message, what) : std::unexpected(message.error());
}

Result<void> Netlink::remove_host_route(int ifindex, const wire::Gid& host) {
    const auto what = "cannot remove the route to " + wire::to_string(host);
    const auto object = rtnl_host_route(ifindex, host);
    if (!object) return out_of_memory(what);
    return remove(*object, what);
}
template Result<void> Netlink::replace_route(const Route&);
template Result<void> Netlink::replace_route(const Ipv6Route&);
template Result<void> Netlink::remove_route(const Route&);
template Result<void> Netlink::remove_route(const Ipv6Route&);

Result<std::vector<KernelEvent>> Netlink::list() {
    std::vector<KernelEvent> events;
    for (const auto [type, family] : kernel_tables) {
        const auto sequence = socket_.send_dump(type, family);
        if (!sequence) return std::unexpected(sequence.error());
        const auto done = answer(*sequence, "cannot list the kernel's tables", [&](nlmsghdr& message) {
            if (auto event = parse_kernel_message(message, true)) events.push_back(std::move(*event));
        });
        if (!done) return std::unexpected(done.error());
    }
    return events;
}

}  // namespace verbline::host
