// SPDX-License-Identifier: BSD-3-Clause
#include "control/host/netlink_message.h"

#include <algorithm>
#include <concepts>
#include <cstring>
#include <memory>

#include <linux/if.h>
#include <linux/if_addr.h>
#include <linux/nexthop.h>
#include <netlink/attr.h>
#include <netlink/route/nexthop.h>
#include <netlink/route/route.h>

#include "control/host/netlink_socket.h"
#include "datapath/link/ip_gid.h"
#include "datapath/wire/bytes.h"

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
    wire::Bytes bytes(int type) const {
        const auto* attribute = nlmsg_find_attr(message_, sizeof(Header), type);
        if (attribute == nullptr) return {};
        return {static_cast<const std::byte*>(nla_data(attribute)), static_cast<std::size_t>(nla_len(attribute))};
    }
    bool has(int type) const { return nlmsg_find_attr(message_, sizeof(Header), type) != nullptr; }
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

template <class Address>
constexpr int family_of = std::same_as<Address, wire::Ipv4Address> ? AF_INET : AF_INET6;

/// Of as many bytes as its family has.
template <class Address>
Address from_network(wire::Bytes bytes) {
    if constexpr (std::same_as<Address, wire::Ipv4Address>) {
        return Address{wire::load32(bytes, 0)};
    } else {
        Address address;
        std::ranges::copy(bytes, address.bytes.begin());
        return address;
    }
}

template <class Address>
std::optional<Address> address_of(nl_addr* address) {
    if (address == nullptr || nl_addr_get_family(address) != family_of<Address>) return std::nullopt;
    if (nl_addr_get_len(address) == 0) return Address{};
    if (nl_addr_get_len(address) != sizeof(Address)) return std::nullopt;
    return from_network<Address>({static_cast<const std::byte*>(nl_addr_get_binary_addr(address)), sizeof(Address)});
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
                        .carrier = ((*link)->ifi_flags & (unsigned{IFF_RUNNING} | unsigned{IFF_LOWER_UP})) != 0,
                        .mtu = link->number(IFLA_MTU).value_or(0)}};
}

template <class Address>
std::optional<KernelEvent> parse_address(nlmsghdr& message, const View<ifaddrmsg>& view, int type) {
    const auto local = view.bytes(type);
    if (local.size() != sizeof(Address) || view->ifa_prefixlen > address_bits<Address>) return std::nullopt;
    const int ifindex = static_cast<int>(view->ifa_index);
    const link::InterfaceAddress address{link::gid_of(from_network<Address>(local)), view->ifa_prefixlen};
    if (message.nlmsg_type == RTM_DELADDR) return AddressRemoved{ifindex, address};
    return AddressAdded{ifindex, address, (view->ifa_flags & IFA_F_NODAD) != 0};
}

std::optional<KernelEvent> parse_address(nlmsghdr& message) {
    const auto view = View<ifaddrmsg>::over(message);
    if (!view) return std::nullopt;
    // On a point-to-point link, IFA_ADDRESS would be the peer's.
    if ((*view)->ifa_family == AF_INET) return parse_address<wire::Ipv4Address>(message, *view, IFA_LOCAL);
    if ((*view)->ifa_family != AF_INET6) return std::nullopt;
    // Not the interface's yet, or never (RFC 4862, 5.4): the kernel notifies once it is.
    const bool added = message.nlmsg_type == RTM_NEWADDR;
    if (added && ((*view)->ifa_flags & (IFA_F_TENTATIVE | IFA_F_DADFAILED)) != 0) return std::nullopt;
    const int type = view->bytes(IFA_LOCAL).empty() ? IFA_ADDRESS : IFA_LOCAL;
    return parse_address<wire::Ipv6Address>(message, *view, type);
}

template <class Address>
BasicHop<Address> hop_of(rtnl_nexthop* nexthop) {
    auto* const via = rtnl_route_nh_get_via(nexthop);  // RTA_VIA: a gateway of another family
    const auto gateway = address_of<Address>(rtnl_route_nh_get_gateway(nexthop));
    const auto ipv6_gateway = address_of<wire::Ipv6Address>(via);
    const bool dead = (rtnl_route_nh_get_flags(nexthop) & RTNH_F_DEAD) != 0;
    const bool known = via == nullptr || ipv6_gateway;
    const auto weight = std::uint32_t{rtnl_route_nh_get_weight(nexthop)} + 1;  // rtnh_hops is one less
    return {rtnl_route_nh_get_ifindex(nexthop), gateway.value_or(Address{}), !dead && known, ipv6_gateway, weight};
}

Place place_of(const nlmsghdr& message, bool dumped) {
    if (!dumped && (message.nlmsg_flags & NLM_F_REPLACE) != 0) return Place::instead_of_first;
    return dumped || (message.nlmsg_flags & NLM_F_APPEND) != 0 ? Place::last : Place::first;
}

template <class Address>
std::optional<KernelEvent> parse_route(nlmsghdr& message, const View<rtmsg>& view, bool dumped) {
    const rtmsg& header = *view.operator->();
    if (header.rtm_dst_len > address_bits<Address>) return std::nullopt;
    rtnl_route* raw = nullptr;
    if (rtnl_route_parse(&message, &raw) < 0) return std::nullopt;
    const RtnlRoute parsed(raw);

    const auto destination = address_of<Address>(rtnl_route_get_dst(raw));
    if (!destination) return std::nullopt;
    BasicRoute<Address> route{.prefix = {*destination, header.rtm_dst_len},
                              .table = rtnl_route_get_table(raw),
                              .metric = rtnl_route_get_priority(raw),
                              .tos = rtnl_route_get_tos(raw),
                              .type = rtnl_route_get_type(raw),
                              .protocol = rtnl_route_get_protocol(raw),
                              .preferred_source = address_of<Address>(rtnl_route_get_pref_src(raw)).value_or(Address{}),
                              .next_hop_id = view.number(RTA_NH_ID).value_or(0),
                              .hops = {}};
    for (int i = 0; i < rtnl_route_get_nnexthops(raw); ++i) {
        route.hops.push_back(hop_of<Address>(rtnl_route_nexthop_n(raw, i)));
    }
    if (message.nlmsg_type == RTM_DELROUTE) return BasicRouteRemoved<Address>{std::move(route)};
    return BasicRouteAdded<Address>{std::move(route), place_of(message, dumped)};
}

std::optional<KernelEvent> parse_route(nlmsghdr& message, bool dumped) {
    const auto view = View<rtmsg>::over(message);
    if (!view || ((*view)->rtm_flags & RTM_F_CLONED) != 0) return std::nullopt;  // not a route, but a cached decision
    const rtmsg& header = *view->operator->();
    if (header.rtm_src_len != 0) return std::nullopt;  // for some sources only
    if (header.rtm_family == AF_INET) return parse_route<wire::Ipv4Address>(message, *view, dumped);
    if (header.rtm_family == AF_INET6) return parse_route<wire::Ipv6Address>(message, *view, dumped);
    return std::nullopt;
}

/// As the kernel has them: struct nexthop_grp, of which the weight's upper half is younger than some headers.
std::vector<NextHopObject::Member> members_of(wire::Bytes group) {
    constexpr std::size_t size = 8, weight_at = 4, upper_weight_at = 5;
    std::vector<NextHopObject::Member> out;
    for (; group.size() >= size; group = group.subspan(size)) {
        NextHopObject::Member member;
        std::memcpy(&member.id, group.data(), sizeof(member.id));
        member.weight = (std::uint32_t{wire::load8(group, upper_weight_at)} << 8 | wire::load8(group, weight_at)) + 1;
        out.push_back(member);
    }
    return out;
}

std::optional<KernelEvent> parse_next_hop(nlmsghdr& message) {
    const auto view = View<nhmsg>::over(message);
    const auto id = view ? view->number(NHA_ID) : std::nullopt;
    if (!id) return std::nullopt;
    if (message.nlmsg_type == RTM_DELNEXTHOP) return NextHopRemoved{*id};
    NextHopObject object{.id = *id, .blackhole = view->has(NHA_BLACKHOLE), .group = members_of(view->bytes(NHA_GROUP))};
    object.hop.ifindex = static_cast<int>(view->number(NHA_OIF).value_or(0));
    object.hop.usable = ((*view)->nh_flags & RTNH_F_DEAD) == 0;
    const auto gateway = view->bytes(NHA_GATEWAY);
    if (gateway.size() == sizeof(wire::Ipv4Address)) object.hop.gateway = from_network<wire::Ipv4Address>(gateway);
    if (gateway.size() == sizeof(wire::Ipv6Address)) object.hop.ipv6_gateway = from_network<wire::Ipv6Address>(gateway);
    return NextHopChanged{std::move(object)};
}

}  // namespace

std::optional<KernelEvent> parse_kernel_message(nlmsghdr& message, bool dumped) {
    switch (message.nlmsg_type) {
        case RTM_NEWLINK:
        case RTM_DELLINK: return parse_link(message);
        case RTM_NEWADDR:
        case RTM_DELADDR: return parse_address(message);
        case RTM_NEWNEXTHOP:
        case RTM_DELNEXTHOP: return parse_next_hop(message);
        case RTM_NEWROUTE:
        case RTM_DELROUTE: return parse_route(message, dumped);
        default: return std::nullopt;
    }
}

}  // namespace verbline::host
