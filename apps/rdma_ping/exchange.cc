// SPDX-License-Identifier: BSD-3-Clause
#include "apps/rdma_ping/exchange.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <fmt/format.h>

namespace verbline::rdma_ping {
namespace {

constexpr timeval io_timeout{.tv_sec = 20, .tv_usec = 0};
constexpr std::uint32_t magic = 0x56'4c'50'32;  // "VLP2": the layout below
constexpr std::size_t introduction_size = 60;

std::array<std::byte, introduction_size> encode(const Introduction& in) {
    std::array<std::byte, introduction_size> out{};
    wire::store32(out, 0, magic);
    wire::store32(out, 4, static_cast<std::uint32_t>(in.qpn));
    wire::store32(out, 8, in.psn.value());
    wire::store32(out, 12, in.mtu);
    std::ranges::copy(in.mac.bytes, out.begin() + 16);
    wire::store16(out, 22, static_cast<std::uint16_t>(in.lid));
    std::ranges::copy(in.gid.bytes, out.begin() + 24);
    wire::store32(out, 40, static_cast<std::uint32_t>(in.rkey));
    wire::store64(out, 44, in.address);
    wire::store32(out, 52, in.selective_ack ? 1 : 0);
    wire::store32(out, 56, in.flow_label);
    return out;
}

Introduction decode(std::span<const std::byte, introduction_size> in) {
    Introduction out{.qpn = wire::Qpn{wire::load32(in, 4) & 0xffffff},
                     .psn = wire::Psn(wire::load32(in, 8)),
                     .mtu = wire::load32(in, 12),
                     .lid = wire::Lid{wire::load16(in, 22)},
                     .rkey = wire::RKey{wire::load32(in, 40)},
                     .address = wire::load64(in, 44),
                     .selective_ack = wire::load32(in, 52) == 1,
                     .flow_label = wire::load32(in, 56) & 0xfffff};
    std::ranges::copy(in.subspan<16, 6>(), out.mac.bytes.begin());
    std::ranges::copy(in.subspan<24, 16>(), out.gid.bytes.begin());
    return out;
}

std::unexpected<Error> failed(const std::string& what) {
    return failure(errno, fmt::format("{}: {}", what, std::strerror(errno)));
}

}  // namespace

Exchange::Exchange(FileDescriptor socket) : socket_(std::move(socket)) {
    const int on = 1;
    setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &io_timeout, sizeof io_timeout);
    setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &io_timeout, sizeof io_timeout);
}

Result<Exchange> Exchange::accept(std::uint16_t port) {
    const FileDescriptor listener(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));  // IPv4 peers are mapped
    const int on = 1, off = 0;
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6, address.sin6_port = htons(port);
    setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    setsockopt(listener.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        listen(listener.get(), 1) != 0) {
        return failed(fmt::format("cannot listen on TCP port {}; give another with --tcp-port", port));
    }
    fmt::print("rdma_ping: TCP port {} ready\n", port);
    std::fflush(stdout);
    FileDescriptor socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket) return failed("no client came");
    return Exchange(std::move(socket));
}

Result<Exchange> Exchange::connect(const std::string& server, std::uint16_t port) {
    addrinfo* list = nullptr;
    const addrinfo hints{.ai_socktype = SOCK_STREAM};
    if (const int error = getaddrinfo(server.c_str(), fmt::to_string(port).c_str(), &hints, &list); error != 0) {
        return failure(EHOSTUNREACH, fmt::format("{}: {}", server, gai_strerror(error)));
    }
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, &freeaddrinfo);
    for (const auto* to = list; to != nullptr; to = to->ai_next) {
        FileDescriptor socket(::socket(to->ai_family, to->ai_socktype | SOCK_CLOEXEC, to->ai_protocol));
        if (socket && ::connect(socket.get(), to->ai_addr, to->ai_addrlen) == 0) return Exchange(std::move(socket));
    }
    return failed(fmt::format("cannot reach the server at {}, TCP port {}; start it first", server, port));
}

Result<Introduction> Exchange::swap(const Introduction& ours) {
    if (auto sent = introduce(ours); !sent) return std::unexpected(sent.error());
    return await_introduction();
}

Result<void> Exchange::introduce(const Introduction& ours) {
    return send(encode(ours));
}

Result<Introduction> Exchange::await_introduction() {
    std::array<std::byte, introduction_size> theirs{};
    if (auto received = receive(theirs); !received) return std::unexpected(received.error());
    if (wire::load32(theirs, 0) != magic) return failure(EPROTO, "the other end of the TCP connection is no rdma_ping");
    return decode(theirs);
}

Result<void> Exchange::meet() {
    std::array<std::byte, 1> byte{};
    if (auto sent = send(byte); !sent) return sent;
    return receive(byte);
}

void Exchange::say_done() {
    (void)send(std::array{std::byte{1}});  // ignored: the peer may have ended
}

bool Exchange::peer_is_done() {
    std::byte byte{};
    const auto n = recv(socket_.get(), &byte, 1, MSG_DONTWAIT);
    return n >= 0 || (errno != EAGAIN && errno != EINTR);
}

Result<void> Exchange::send(wire::Bytes bytes) {
    while (!bytes.empty()) {
        const auto n = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (n < 0) return failed("the TCP connection to the peer broke");
        bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
    return {};
}

Result<void> Exchange::receive(wire::MutableBytes bytes) {
    while (!bytes.empty()) {
        const auto n = recv(socket_.get(), bytes.data(), bytes.size(), 0);
        if (n == 0) return failure(ECONNRESET, "the peer closed the TCP connection; see what it printed");
        if (n < 0) return failed("the peer does not answer on the TCP connection");
        bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
    return {};
}

}  // namespace verbline::rdma_ping
