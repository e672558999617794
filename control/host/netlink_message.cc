// SPDX-License-Identifier: BSD-3-Clause
#include "control/host/netlink_message.h"

#include <cstring>
#include <memory>

#include <linux/if.h>
#include <netlink/attr.h>
#include <netlink/route/nexthop.h>
#include <netlink/route/route.h>

#include <arpa/inet.h>

#include "control/host/netlink_socket.h"

namespace verbline::host {

namespace {

using RtnlRoute = std::unique_ptr<rtnl_route, Release<rtnl_route_put>>;

/// A message as its fixed part and the attributes behind it.
template <class Header>
class View {
public:
    static std::optional<View> over(nlmsghdr& message) {
        if (nlmsg_datalen(&message) < static_cast<int>(sizeof(Header))) return std::nullopt;
        return View(message);
    }

    const Header* operator->() const { return static_cast<const Header*>(nlmsg_data(message_)); }
    std::optional<std::uint32_t> number(int type) const {
        const auto* attribute = nlmsg_find_attr(message_, sizeof(Header), type);
        if (attribute == nullptr || nla_len(attribute) < 4) return std::nullopt;
        return nla_get_u32(attribute);
    }
    std::string text(int type) const {
        const auto* attribute = nlmsg_find_attr(message_, sizeof(Header), type);
        if (attribute == nullptr) return {};
        const auto* begin = static_cast<const char*>(nla_data(attribute));
        return {begin, strnlen(begin, nla_len(attribute))};
    }

private:
    explicit View(nlmsghdr& message) : message_(&message) {}

    nlmsghdr* message_;
};

wire::Ipv4Address from_network(std::uint32_t address) {
    return wire::Ipv4Address{ntohl(address)};
}

std::optional<wire::Ipv4Address> ipv4_of(nl_addr* address) {
    if (address == nullptr || nl_addr_get_family(address) != AF_INET) return std::nullopt;
    if (nl_addr_get_len(address) == 0) return wire::Ipv4Address{};
    if (nl_addr_get_len(address) != 4) return std::nullopt;
    std::uint32_t value = 0;
    std::memcpy(&value, nl_addr_get_binary_addr(address), sizeof(value));
    return from_network(value);
}

std::optional<KernelEvent> parse_link(nlmsghdr& message) {
    const auto link = View<ifinfomsg>::over(message);
    // A bridge announces its ports in messages of the same type, where a deletion does not mean that the link is
    // deleted.
    if (!link || (*link)->ifi_family != AF_UNSPEC) return std::nullopt;
    if (message.nlmsg_type == RTM_DELLINK) return LinkRemoved{(*link)->ifi_index};
    return LinkChanged{{.ifindex = (*link)->ifi_index,
                        .name = link->text(IFLA_IFNAME),
                        .up = ((*link)->ifi_flags & IFF_UP) != 0,
                        .mtu = link->number(IFLA_MTU).value_or(0)}};
}

std::optional<KernelEvent> parse_address(nlmsghdr& message) {
    const auto view = View<ifaddrmsg>::over(message);
    if (!view || (*view)->ifa_family != AF_INET || (*view)->ifa_prefixlen > 32) return std::nullopt;
    const auto local = view->number(IFA_LOCAL);  // IFA_ADDRESS would be the peer's on a point-to-point link
    if (!local) return std::nullopt;
    const int ifindex = static_cast<int>((*view)->ifa_index);
    const wire::Ipv4Prefix address{from_network(*local), (*view)->ifa_prefixlen};
    if (message.nlmsg_type == RTM_DELADDR) return AddressRemoved{ifindex, address};
    return AddressAdded{ifindex, address};
}

Hop hop_of(rtnl_nexthop* nexthop) {
    const auto gateway = ipv4_of(rtnl_route_nh_get_gateway(nexthop));
    const bool dead = (rtnl_route_nh_get_flags(nexthop) & RTNH_F_DEAD) != 0;
    const bool foreign = rtnl_route_nh_get_via(nexthop) != nullptr;  // RTA_VIA: a gateway of another family
    return {rtnl_route_nh_get_ifindex(nexthop), gateway.value_or(wire::Ipv4Address{}), !dead && !foreign};
}

std::optional<KernelEvent> parse_route(nlmsghdr& message, bool dumped) {
    const auto view = View<rtmsg>::over(message);
    if (!view || (*view)->rtm_family != AF_INET || (*view)->rtm_dst_len > 32) return std::nullopt;
    if (((*view)->rtm_flags & RTM_F_CLONED) != 0) return std::nullopt;  // not a route, but a cached decision
    rtnl_route* raw = nullptr;
    if (rtnl_route_parse(&message, &raw) < 0) return std::nullopt;
    const RtnlRoute parsed(raw);

    const auto destination = ipv4_of(rtnl_route_get_dst(raw));
    if (!destination) return std::nullopt;
    Route route{.prefix = {*destination, (*view)->rtm_dst_len},
                .table = rtnl_route_get_table(raw),
                .metric = rtnl_route_get_priority(raw),
                .tos = rtnl_route_get_tos(raw),
                .type = rtnl_route_get_type(raw),
                .protocol = rtnl_route_get_protocol(raw),
                .preferred_source = ipv4_of(rtnl_route_get_pref_src(raw)).value_or(wire::Ipv4Address{})};
    for (int i = 0; i < rtnl_route_get_nnexthops(raw); ++i) route.hops.push_back(hop_of(rtnl_route_nexthop_n(raw, i)));

    if (message.nlmsg_type == RTM_DELROUTE) return RouteRemoved{std::move(route)};
    auto place = Place::first;
    if (dumped || (message.nlmsg_flags & NLM_F_APPEND) != 0) place = Place::last;
    if (!dumped && (message.nlmsg_flags & NLM_F_REPLACE) != 0) place = Place::instead_of_first;
    return RouteAdded{std::move(route), place};
}

}  // namespace

std::optional<KernelEvent> parse_kernel_message(nlmsghdr& message, bool dumped) {
    switch (message.nlmsg_type) {
        case RTM_NEWLINK:
        case RTM_DELLINK: return parse_link(message);
        case RTM_NEWADDR:
        case RTM_DELADDR: return parse_address(message);
        case RTM_NEWROUTE:
        case RTM_DELROUTE: return parse_route(message, dumped);
        default: return std::nullopt;
    }
}

}  // namespace verbline::host
