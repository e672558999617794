// SPDX-License-Identifier: BSD-3-Clause
#include "control/host/kernel_neighbour.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <utility>

#include <linux/neighbour.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netlink/attr.h>
#include <poll.h>
#include <sys/ioctl.h>

#include <arpa/inet.h>
#include <fmt/format.h>

#include "control/host/netlink_socket.h"
#include "datapath/link/ip_gid.h"
#include "datapath/wire/text.h"
#include "pmd/base/clock.h"
#include "pmd/base/file_descriptor.h"

namespace verbline::host {
namespace {

constexpr std::uint16_t discard_port = 9;  ///< RFC 863
constexpr unsigned usable_states = NUD_PERMANENT | NUD_NOARP | NUD_REACHABLE | NUD_PROBE | NUD_STALE | NUD_DELAY;

/// A GID as netlink has addresses.
struct Address {
    explicit Address(const wire::Gid& gid) : bytes(gid), ipv4(link::ipv4_of(gid).has_value()) {}

    int family() const { return ipv4 ? AF_INET : AF_INET6; }
    std::span<const std::byte> span() const {
        return std::span(bytes.bytes).subspan(ipv4 ? link::ipv4_in_gid : std::size_t{0});
    }
    std::string text() const {
        const auto address = link::ipv4_of(bytes);
        return address ? wire::to_string(*address) : wire::to_string(bytes);
    }

    wire::Gid bytes;
    bool ipv4;
};

std::span<const std::byte> attribute(nlmsghdr& message, std::size_t header, int type) {
    const auto* found = nlmsg_find_attr(&message, static_cast<int>(header), type);
    if (found == nullptr) return {};
    return {static_cast<const std::byte*>(nla_data(found)), static_cast<std::size_t>(nla_len(found))};
}

std::optional<wire::Gid> gid_of(std::span<const std::byte> bytes, int family) {
    if (family == AF_INET && bytes.size() == 4) return link::gid_of(wire::Ipv4Address{wire::load32(bytes, 0)});
    wire::Gid gid;
    if (family != AF_INET6 || bytes.size() != gid.bytes.size()) return std::nullopt;
    std::ranges::copy(bytes, gid.bytes.begin());
    return gid;
}

template <class Header>
const Header* body(nlmsghdr& message, int type) {
    const bool enough = nlmsg_datalen(&message) >= static_cast<int>(sizeof(Header));
    return message.nlmsg_type == type && enough ? static_cast<const Header*>(nlmsg_data(&message)) : nullptr;
}

enum class Messages : bool { notifications, replies };

/// Receives messages until `done`; false at the deadline. Of notifications some may be missed; the reply to a request
/// does not come again (ENOBUFS).
Result<bool> receive_until(NetlinkSocket& socket, Messages kind, Time deadline,
                           const std::function<bool(nlmsghdr&)>& done) {
    for (bool finished = false;;) {
        const auto outcome = socket.receive([&](nlmsghdr& message) { finished = finished || done(message); });
        if (!outcome) return std::unexpected(outcome.error());
        if (finished) return true;
        if (*outcome == NetlinkSocket::Outcome::lost && kind == Messages::replies)
            return failure(ENOBUFS, "the kernel's answer was lost");
        if (*outcome != NetlinkSocket::Outcome::nothing) continue;
        const auto left = deadline - monotonic_now();
        pollfd wait{.fd = socket.fd(), .events = POLLIN};
        if (left <= 0 || poll(&wait, 1, static_cast<int>(left / millisecond + 1)) == 0) return false;
    }
}

/// One request, and `each` of its answers; the kernel's errno if it refuses.
Result<void> ask(NetlinkSocket& socket, Result<std::uint32_t> sequence, const std::string& what,
                 const std::function<void(nlmsghdr&)>& each) {
    if (!sequence) return std::unexpected(sequence.error());
    int code = 0;
    const auto received =
        receive_until(socket, Messages::replies, monotonic_now() + 2 * second, [&](nlmsghdr& message) {
            if (!socket.answers(message, *sequence)) return false;
            if (const auto* error = body<nlmsgerr>(message, NLMSG_ERROR)) {
                code = -error->error;
                return true;
            }
            if (message.nlmsg_type == NLMSG_DONE) return true;
            each(message);
            return (message.nlmsg_flags & NLM_F_MULTI) == 0;
        });
    if (!received) return std::unexpected(received.error());
    if (!*received) code = ETIMEDOUT;
    if (code != 0) return failure(code, fmt::format("{}: {}", what, std::strerror(code)));
    return {};
}

template <class Header>
Result<NetlinkMessage> request(int type, const Header& header,
                               std::initializer_list<std::pair<int, std::span<const std::byte>>> attributes) {
    NetlinkMessage message(nlmsg_alloc_simple(type, 0));
    bool good =
        message && nlmsg_append(message.get(), const_cast<Header*>(&header), sizeof(header), NLMSG_ALIGNTO) == 0;
    for (const auto& [attribute, bytes] : attributes) {
        good = good && nla_put(message.get(), attribute, static_cast<int>(bytes.size()), bytes.data()) == 0;
    }
    if (!good) return failure(ENOMEM, "cannot query the kernel: out of memory");
    return message;
}

/// Of an interface, by an old but simple way.
Result<ifreq> interface_request(unsigned long what, const std::string& name) {
    const FileDescriptor any(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq wanted{};
    name.copy(wanted.ifr_name, IFNAMSIZ - 1);
    if (ioctl(any.get(), what, &wanted) == 0 && name.size() < IFNAMSIZ) return wanted;
    return failure(ENODEV, fmt::format("no interface {}; `ip link` lists those there are", name));
}

Result<wire::MacAddress> mac_of(const std::string& interface) {
    const auto found = interface_request(SIOCGIFHWADDR, interface);
    if (!found) return std::unexpected(found.error());
    wire::MacAddress mac;
    std::memcpy(mac.bytes.data(), found->ifr_hwaddr.sa_data, mac.bytes.size());
    return mac;
}

void add_address(nlmsghdr& message, InterfaceAddresses& to) {
    const auto* header = body<ifaddrmsg>(message, RTM_NEWADDR);
    if (header == nullptr || header->ifa_index != to.ifindex) return;
    std::uint32_t flags = header->ifa_flags;
    if (const auto all = attribute(message, sizeof(*header), IFA_FLAGS); all.size() == sizeof(flags)) {
        std::memcpy(&flags, all.data(), sizeof(flags));
    }
    const bool unsure = (flags & (IFA_F_TENTATIVE | IFA_F_DADFAILED)) != 0 && (flags & IFA_F_OPTIMISTIC) == 0;
    auto bytes = attribute(message, sizeof(*header), IFA_LOCAL);  // IFA_ADDRESS is the peer's on point-to-point links
    if (bytes.empty()) bytes = attribute(message, sizeof(*header), IFA_ADDRESS);
    const auto gid = gid_of(bytes, header->ifa_family);
    if (gid) (unsure ? to.unsure : to.addresses).push_back({*gid, header->ifa_prefixlen});
}

struct Way {
    bool local = false;  ///< to this host
    wire::Gid next_hop{};
};

Result<Way> route(NetlinkSocket& socket, unsigned ifindex, const Address& from, const Address& to) {
    const rtmsg header{.rtm_family = static_cast<unsigned char>(to.family()),
                       .rtm_dst_len = static_cast<unsigned char>(8 * to.span().size()),
                       .rtm_src_len = static_cast<unsigned char>(8 * from.span().size())};
    const auto message =
        request(RTM_GETROUTE, header,
                {{RTA_DST, to.span()}, {RTA_SRC, from.span()}, {RTA_OIF, std::as_bytes(std::span(&ifindex, 1))}});
    if (!message) return std::unexpected(message.error());
    Way way{.next_hop = to.bytes};
    bool usable_way = false;
    const auto what = fmt::format("no route from {} to {}", from.text(), to.text());
    const auto asked = ask(socket, socket.send(**message), what, [&](nlmsghdr& answer) {
        const auto* found = body<rtmsg>(answer, RTM_NEWROUTE);
        if (found == nullptr) return;
        way.local = found->rtm_type == RTN_LOCAL;
        usable_way = way.local || found->rtm_type == RTN_UNICAST;
        const auto gateway = gid_of(attribute(answer, sizeof(rtmsg), RTA_GATEWAY), found->rtm_family);
        if (gateway) way.next_hop = *gateway;
        // A gateway of the other family (RFC 8950) is `rtvia`: family, then the address.
        const auto via = attribute(answer, sizeof(rtmsg), RTA_VIA);
        if (via.size() > sizeof(rtvia)) {
            if (const auto other = gid_of(via.subspan(sizeof(rtvia)), AF_INET6)) way.next_hop = *other;
        }
    });
    if (!asked) return std::unexpected(asked.error());
    if (!usable_way) return failure(ENETUNREACH, what + ": it is blocked");
    return way;
}

/// State and address of one neighbour in a message, if it has them.
struct Neighbour {
    unsigned state = NUD_NONE;
    std::optional<wire::MacAddress> mac;
};

std::optional<Neighbour> parse_neighbour(nlmsghdr& message, unsigned ifindex, const wire::Gid& gid) {
    const auto* header = body<ndmsg>(message, RTM_NEWNEIGH);
    if (header == nullptr || header->ndm_ifindex != static_cast<int>(ifindex) ||
        gid_of(attribute(message, sizeof(*header), NDA_DST), header->ndm_family) != gid) {
        return std::nullopt;
    }
    Neighbour neighbour{.state = header->ndm_state, .mac = std::nullopt};
    const auto address = attribute(message, sizeof(*header), NDA_LLADDR);
    wire::MacAddress mac;
    if ((neighbour.state & usable_states) != 0 && address.size() == mac.bytes.size()) {
        std::ranges::copy(address, mac.bytes.begin());
        neighbour.mac = mac;
    }
    return neighbour;
}

Result<Neighbour> known_neighbour(NetlinkSocket& socket, unsigned ifindex, const Address& gid) {
    const ndmsg header{.ndm_family = static_cast<unsigned char>(gid.family()),
                       .ndm_ifindex = static_cast<int>(ifindex)};
    const auto message = request(RTM_GETNEIGH, header, {{NDA_DST, gid.span()}});
    if (!message) return std::unexpected(message.error());
    Neighbour neighbour;
    const auto asked =
        ask(socket, socket.send(**message), "cannot query neighbour " + gid.text(), [&](nlmsghdr& answer) {
            if (const auto found = parse_neighbour(answer, ifindex, gid.bytes)) neighbour = *found;
        });
    if (!asked && asked.error().code != ENOENT) return std::unexpected(asked.error());
    return neighbour;
}

/// Sends a packet, which makes the kernel resolve the neighbour.
Result<void> send_something(unsigned ifindex, const std::string& interface, const Address& to) {
    const FileDescriptor sender(socket(to.family(), SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!sender) return failure(errno, fmt::format("cannot solicit {}: {}", to.text(), std::strerror(errno)));
    setsockopt(sender.get(), SOL_SOCKET, SO_BINDTODEVICE, interface.c_str(), static_cast<socklen_t>(interface.size()));
    sockaddr_in ipv4{.sin_family = AF_INET, .sin_port = htons(discard_port)};
    sockaddr_in6 ipv6{.sin6_family = AF_INET6, .sin6_port = htons(discard_port), .sin6_scope_id = ifindex};
    void* const address = to.ipv4 ? static_cast<void*>(&ipv4.sin_addr) : static_cast<void*>(&ipv6.sin6_addr);
    std::memcpy(address, to.span().data(), to.span().size());
    const auto* destination = to.ipv4 ? reinterpret_cast<sockaddr*>(&ipv4) : reinterpret_cast<sockaddr*>(&ipv6);
    const socklen_t size = to.ipv4 ? sizeof(ipv4) : sizeof(ipv6);
    if (sendto(sender.get(), "", 1, MSG_DONTWAIT, destination, size) == 1) return {};
    return failure(errno, fmt::format("cannot send to {} on {}: {}", to.text(), interface, std::strerror(errno)));
}

}  // namespace

Result<InterfaceAddresses> kernel_addresses(const std::string& interface) {
    InterfaceAddresses result;
    const auto mac = mac_of(interface);
    if (!mac) return std::unexpected(mac.error());
    const auto mtu = interface_request(SIOCGIFMTU, interface);
    if (!mtu) return std::unexpected(mtu.error());
    const auto ifindex = interface_request(SIOCGIFINDEX, interface);
    if (!ifindex) return std::unexpected(ifindex.error());
    result.ifindex = static_cast<unsigned>(ifindex->ifr_ifindex);
    result.mac = *mac;
    result.mtu = static_cast<std::uint32_t>(mtu->ifr_mtu);
    auto socket = NetlinkSocket::open("");
    if (!socket) return std::unexpected(socket.error());
    for (const int family : {AF_INET, AF_INET6}) {
        const auto asked = ask(*socket, socket->send_dump(RTM_GETADDR, family), "cannot list addresses",
                               [&](nlmsghdr& message) { add_address(message, result); });
        if (!asked) return std::unexpected(asked.error());
    }
    // Of an interface that is being removed the dump lists none: its addresses outlive its entry in the kernel's list.
    const auto after = interface_request(SIOCGIFINDEX, interface);
    if (!after) return std::unexpected(after.error());
    if (after->ifr_ifindex != ifindex->ifr_ifindex)
        return failure(ENODEV, fmt::format("the interface {} was replaced while its addresses were read", interface));
    return result;
}

Result<wire::MacAddress> resolve_kernel_neighbour(unsigned ifindex, const wire::Gid& from, const wire::Gid& to,
                                                  Time timeout) {
    const auto deadline = monotonic_now() + timeout;
    char name[IF_NAMESIZE] = {};
    if (if_indextoname(ifindex, name) == nullptr) return failure(ENODEV, fmt::format("no interface {}", ifindex));
    auto questions = NetlinkSocket::open(""), changes = NetlinkSocket::open("");
    if (!questions) return std::unexpected(questions.error());
    if (!changes) return std::unexpected(changes.error());
    // Subscribe before reading the table, so that no change is missed.
    if (auto done = changes->subscribe(RTNLGRP_NEIGH); !done) return std::unexpected(done.error());

    const auto way = route(*questions, ifindex, Address(from), Address(to));
    if (!way) return std::unexpected(way.error());
    if (way->local) return mac_of(name);
    const Address hop(way->next_hop);
    const auto known = known_neighbour(*questions, ifindex, hop);
    if (!known) return std::unexpected(known.error());
    if (known->mac) return *known->mac;
    if (auto sent = send_something(ifindex, name, hop); !sent) return std::unexpected(sent.error());

    Neighbour neighbour;
    const auto received = receive_until(*changes, Messages::notifications, deadline, [&](nlmsghdr& message) {
        if (const auto found = parse_neighbour(message, ifindex, hop.bytes)) neighbour = *found;
        return neighbour.mac || neighbour.state == NUD_FAILED;
    });
    if (!received) return std::unexpected(received.error());
    if (neighbour.mac) return *neighbour.mac;
    return failure(*received ? EHOSTUNREACH : ETIMEDOUT,
                   fmt::format("{} does not answer on {}; is it up, and in the same network?", hop.text(), name));
}

}  // namespace verbline::host
