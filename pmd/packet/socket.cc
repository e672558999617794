// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/packet/socket.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <arpa/inet.h>
#include <fmt/format.h>

#include "pmd/base/tunables.h"
#include "pmd/packet/filter.h"

namespace verbline::pmd::packet {
namespace {

/// bind(2) with protocol 0 keeps the previous protocol. This is a number that no frame has: too small for an EtherType.
constexpr int no_protocol = ETH_P_LOCALTALK;

std::unexpected<Error> failed(const std::string& name, const char* what, int code = errno) {
    return failure(code, fmt::format("interface {}: {}: {}", name, what, std::strerror(code)));
}

ifreq request_for(const std::string& name) {
    ifreq request{};
    name.copy(request.ifr_name, IFNAMSIZ - 1);
    return request;
}

short flags_of(int fd, const std::string& name) {
    auto request = request_for(name);
    return ioctl(fd, SIOCGIFFLAGS, &request) == 0 ? request.ifr_flags : short{0};
}

template <class Value>
bool set(int fd, int option, const Value& value) {
    return setsockopt(fd, SOL_PACKET, option, &value, sizeof(value)) == 0;
}

}  // namespace

RingGeometry ring_geometry(std::size_t max_frame, std::size_t bytes) {
    constexpr std::size_t min_block = 1 << 16;
    constexpr std::uint32_t min_slots = 64, max_slots = 4096;
    // The kernel leaves up to 16 bytes between its header and the frame, so that what follows Ethernet is aligned.
    const auto overhead = TPACKET_ALIGN(TPACKET2_HDRLEN) + 16 + ETH_HLEN;
    const auto slot = std::bit_ceil(max_frame + overhead);
    const auto slots = std::clamp(static_cast<std::uint32_t>(bytes / slot), min_slots, max_slots);
    return {.slot_size = static_cast<std::uint32_t>(slot),
            .slots = std::bit_floor(slots),
            .block_size = static_cast<std::uint32_t>(std::max(slot, min_block))};
}

Result<Socket> Socket::open(const std::string& interface) {
    Socket socket;
    socket.name_ = interface;
    // Protocol 0: nothing yet.
    socket.fd_ = FileDescriptor(::socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket.fd_ && (errno == EPERM || errno == EACCES)) {
        return failure(errno, fmt::format("cannot use interface {}: run as root or with CAP_NET_RAW", interface));
    }
    if (!socket.fd_) return failed(interface, "packet socket");
    if (auto done = socket.ask_kernel(); !done) return std::unexpected(done.error());
    const int on = 1, version = TPACKET_V2;
    // Older kernels do not have this option, and also deliver frames that this host sends.
    set(socket.fd(), PACKET_IGNORE_OUTGOING, on);
    if (!set(socket.fd(), PACKET_VERSION, version)) return failed(interface, "packet ring");
    if (setsockopt(socket.fd(), SOL_SOCKET, SO_SNDBUFFORCE, &tunables::packet_send_buffer,
                   sizeof(tunables::packet_send_buffer)) != 0) {
        setsockopt(socket.fd(), SOL_SOCKET, SO_SNDBUF, &tunables::packet_send_buffer,
                   sizeof(tunables::packet_send_buffer));
    }
    return socket;
}

Result<void> Socket::ask_kernel() {
    auto request = request_for(name_);
    if (name_.empty() || name_.size() >= IFNAMSIZ || ioctl(fd(), SIOCGIFINDEX, &request) != 0) {
        return failure(ENODEV, fmt::format("no interface {}; `ip link` lists those there are", name_));
    }
    ifindex_ = request.ifr_ifindex;
    if (ioctl(fd(), SIOCGIFHWADDR, &request) != 0) return failed(name_, "MAC address");
    if (request.ifr_hwaddr.sa_family != ARPHRD_ETHER) {
        return failure(EMEDIUMTYPE, fmt::format("interface {} is not Ethernet; choose one that is", name_));
    }
    std::memcpy(mac_.bytes.data(), request.ifr_hwaddr.sa_data, mac_.bytes.size());
    if (ioctl(fd(), SIOCGIFMTU, &request) != 0) return failed(name_, "MTU");
    mtu_ = static_cast<std::uint32_t>(request.ifr_mtu);
    return {};
}

bool Socket::is_up() const {
    return (flags_of(fd(), name_) & IFF_UP) != 0;
}

bool Socket::has_carrier() const {
    constexpr short both = IFF_UP | IFF_RUNNING;
    return (flags_of(fd(), name_) & both) == both;
}

Result<void> Socket::filter_rdma() {
    const auto filter = rdma_filter();
    const sock_fprog program{static_cast<unsigned short>(filter.size()), const_cast<sock_filter*>(filter.data())};
    if (setsockopt(fd(), SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) != 0) return failed(name_, "filter");
    return {};
}

Result<std::span<std::byte>> Socket::map_ring(const RingGeometry& geometry) {
    const tpacket_req request{
        .tp_block_size = geometry.block_size,
        .tp_block_nr = geometry.slots / (geometry.block_size / geometry.slot_size),
        .tp_frame_size = geometry.slot_size,
        .tp_frame_nr = geometry.slots,
    };
    if (!set(fd(), PACKET_RX_RING, request)) return failed(name_, "receive ring");
    const auto size = std::size_t{geometry.slot_size} * geometry.slots;
    void* const at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd(), 0);
    if (at == MAP_FAILED) return failed(name_, "receive ring");
    return std::span(static_cast<std::byte*>(at), size);
}

Result<void> Socket::bind(bool receiving) {
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(receiving ? ETH_P_ALL : no_protocol);
    address.sll_ifindex = ifindex_;
    if (::bind(fd(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) return failed(name_, "bind");
    return {};
}

std::error_code Socket::set_membership(bool member, unsigned short type, const wire::MacAddress& mac) {
    packet_mreq request{
        .mr_ifindex = ifindex_, .mr_type = type, .mr_alen = static_cast<unsigned short>(mac.bytes.size())};
    std::memcpy(request.mr_address, mac.bytes.data(), mac.bytes.size());
    if (set(fd(), member ? PACKET_ADD_MEMBERSHIP : PACKET_DROP_MEMBERSHIP, request)) return {};
    return {errno, std::generic_category()};
}

std::uint32_t Socket::take_drops() {
    tpacket_stats statistics{};
    socklen_t size = sizeof(statistics);
    const bool read = getsockopt(fd(), SOL_PACKET, PACKET_STATISTICS, &statistics, &size) == 0;
    return read ? statistics.tp_drops : 0;
}

}  // namespace verbline::pmd::packet
