// SPDX-License-Identifier: BSD-3-Clause
#include "control/dhcp_relay/relay_socket.h"

#include <cerrno>
#include <cstring>

#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <arpa/inet.h>
#include <fmt/format.h>

#include "datapath/wire/dhcp.h"
#include "datapath/wire/dhcpv6.h"
#include "datapath/wire/text.h"

namespace verbline::dhcp {
namespace {

/// What the families differ in.
template <class Address>
struct SocketFamily;

template <>
struct SocketFamily<wire::Ipv4Address> {
    using Name = sockaddr_in;
    static constexpr int number = AF_INET;
    static constexpr std::uint16_t port = wire::dhcp_server_port;

    static Name name(wire::Ipv4Address address, std::uint16_t port, unsigned /*ifindex*/) {
        return {.sin_family = number,
                .sin_port = htons(port),
                .sin_addr = {htonl(static_cast<std::uint32_t>(address))},
                .sin_zero = {}};
    }
    static wire::Ipv4Address address(const Name& name) { return wire::Ipv4Address{ntohl(name.sin_addr.s_addr)}; }
};

template <>
struct SocketFamily<wire::Ipv6Address> {
    using Name = sockaddr_in6;
    static constexpr int number = AF_INET6;
    static constexpr std::uint16_t port = wire::dhcpv6_server_port;

    static Name name(const wire::Ipv6Address& address, std::uint16_t port, unsigned ifindex) {
        Name name{.sin6_family = number,
                  .sin6_port = htons(port),
                  .sin6_flowinfo = 0,
                  .sin6_addr = {},
                  .sin6_scope_id = wire::is_link_local(address) ? ifindex : 0};
        std::memcpy(&name.sin6_addr, address.bytes.data(), address.bytes.size());
        return name;
    }
    static wire::Ipv6Address address(const Name& name) {
        wire::Ipv6Address address;
        std::memcpy(address.bytes.data(), &name.sin6_addr, address.bytes.size());
        return address;
    }
};

bool enable(int fd, int level, int option) {
    constexpr int on = 1;
    return setsockopt(fd, level, option, &on, sizeof(on)) == 0;
}

/// Of IPv6 alone: the kernel's IPv4 goes to the other family's sockets.
template <class Address>
FileDescriptor open_shared() {
    FileDescriptor fd(socket(SocketFamily<Address>::number, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd || !enable(fd.get(), SOL_SOCKET, SO_REUSEADDR)) return {};
    if (SocketFamily<Address>::number == AF_INET6 && !enable(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY)) return {};
    return fd;
}

template <class Address>
bool bind_to(int fd, const Address& address) {
    const auto name = SocketFamily<Address>::name(address, SocketFamily<Address>::port, 0);
    return bind(fd, reinterpret_cast<const sockaddr*>(&name), sizeof(name)) == 0;
}

bool accept_clients(int fd, unsigned /*ifindex*/, wire::Ipv4Address) {
    return enable(fd, SOL_SOCKET, SO_BROADCAST);
}
bool accept_clients(int fd, unsigned ifindex, const wire::Ipv6Address&) {
    ipv6_mreq request{};
    const auto& group = wire::dhcpv6_relays_and_servers;
    std::memcpy(&request.ipv6mr_multiaddr, group.bytes.data(), group.bytes.size());
    request.ipv6mr_interface = ifindex;
    return setsockopt(fd, IPPROTO_IPV6, IPV6_JOIN_GROUP, &request, sizeof(request)) == 0;
}

/// The errno of the last call, with what to do about it.
std::unexpected<Error> refusal(const std::string& where, std::uint16_t port) {
    const int code = errno;
    auto what = fmt::format("cannot relay DHCP: no UDP port {} {}: {}", port, where, std::strerror(code));
    if (code == EADDRINUSE) what += " (another DHCP program has it: stop that, or let it bind to other interfaces)";
    if (code == EACCES || code == EPERM) what += " (run as root or with CAP_NET_BIND_SERVICE and CAP_NET_RAW)";
    return failure(code, std::move(what));
}

}  // namespace

template <class Address>
Result<RelaySocket<Address>> RelaySocket<Address>::on_interface(const std::string& name) {
    using Family = SocketFamily<Address>;
    const auto ifindex = if_nametoindex(name.c_str());
    auto fd = ifindex != 0 ? open_shared<Address>() : FileDescriptor();
    const auto length = static_cast<socklen_t>(name.size() + 1);
    if (!fd || setsockopt(fd.get(), SOL_SOCKET, SO_BINDTODEVICE, name.c_str(), length) != 0 ||
        !bind_to(fd.get(), Address{}) || !accept_clients(fd.get(), ifindex, Address{}))
        return refusal("on interface " + name, Family::port);
    return RelaySocket(std::move(fd), ifindex);
}

template <class Address>
Result<RelaySocket<Address>> RelaySocket<Address>::at_address(const Address& address) {
    using Family = SocketFamily<Address>;
    auto fd = open_shared<Address>();
    const bool ipv6 = Family::number == AF_INET6;
    const int level = ipv6 ? IPPROTO_IPV6 : IPPROTO_IP, option = ipv6 ? IPV6_FREEBIND : IP_FREEBIND;
    if (!fd || !enable(fd.get(), level, option) || !bind_to(fd.get(), address))
        return refusal("at " + to_string(address), Family::port);
    return RelaySocket(std::move(fd), 0);
}

template <class Address>
std::optional<typename RelaySocket<Address>::Datagram> RelaySocket<Address>::receive(std::span<std::byte> room) {
    using Family = SocketFamily<Address>;
    typename Family::Name name{};
    socklen_t length = sizeof(name);
    const auto size =
        recvfrom(fd_.get(), room.data(), room.size(), MSG_TRUNC, reinterpret_cast<sockaddr*>(&name), &length);
    if (size < 0) return std::nullopt;
    const auto whole = static_cast<std::size_t>(size);
    return Datagram{Family::address(name), whole <= room.size() ? wire::Bytes(room.first(whole)) : wire::Bytes()};
}

template <class Address>
bool RelaySocket<Address>::send(const Address& destination, std::uint16_t port, wire::Bytes message) {
    const auto name = SocketFamily<Address>::name(destination, port, ifindex_);
    const auto sent =
        sendto(fd_.get(), message.data(), message.size(), 0, reinterpret_cast<const sockaddr*>(&name), sizeof(name));
    return sent == static_cast<ssize_t>(message.size());
}

template class RelaySocket<wire::Ipv4Address>;
template class RelaySocket<wire::Ipv6Address>;

}  // namespace verbline::dhcp
