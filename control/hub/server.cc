// SPDX-License-Identifier: BSD-3-Clause
#include "control/hub/server.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <tuple>
#include <utility>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <fmt/format.h>

#include "control/hub/client.h"
#include "control/hub/directory.h"
#include "control/hub/identity.h"
#include "control/hub/protocol_layout.h"
#include "control/hub/server_session.h"
#include "control/hub/subnet_host.h"
#include "pmd/base/descriptor_message.h"

namespace verbline::hub {
namespace {

constexpr Time look_period = second;

bool send_to(int fd, const Message& message) {
    const auto bytes = encode(message);
    return send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(bytes.size());
}

/// The process at the other end, as the kernel knows it: its own statements prove nothing.
std::optional<Peer> peer_of(int fd) {
    ucred peer{};
    socklen_t size = sizeof(peer);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
    return Peer{.pid = peer.pid, .uid = peer.uid};
}

}  // namespace

Result<std::unique_ptr<Server>> Server::open(control::Loop& loop, const RegistrySetup& setup, std::uint16_t mtu,
                                             LaneHost& host) {
    std::unique_ptr<Server> server(new Server(loop, setup, mtu, host));
    if (auto listening = server->listen(); !listening) return std::unexpected(listening.error());
    return server;
}

Server::Server(control::Loop& loop, const RegistrySetup& setup, std::uint16_t mtu, LaneHost& host)
    : loop_(loop),
      name_(setup.name),
      mtu_(mtu),
      host_(host),
      registry_(setup),
      acceptor_(
          loop, [this](FileDescriptor fd) { accept(std::move(fd)); },
          [this](int code) {
              fmt::print(stderr,
                         "verbline: hub `{}`: clients wait to be accepted: {}; raise the limit with `ulimit -n`\n",
                         name_, std::strerror(code));
          }) {}

Server::~Server() {
    file_ = {};
    if (registry_.node() != nullptr) remove_identity(name_);
    while (!sessions_.empty()) end(sessions_.begin()->first);
}

Result<void> Server::listen() {
    if (auto made = make_directory(name_); !made) return made;
    if (runs(name_)) {
        return failure(EADDRINUSE, fmt::format("hub `{}` runs already; stop it, or give this one another name", name_));
    }
    const std::string path = control_socket(name_);
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    if (path.size() >= sizeof(address.sun_path)) {
        return failure(ENAMETOOLONG, fmt::format("{}: too long for a socket's path; choose a shorter name", path));
    }
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    unlink(path.c_str());  // a hub that was killed left it
    FileDescriptor fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const auto failed = [&] { return failure(errno, fmt::format("{}: {}", path, std::strerror(errno))); };
    auto bound = path;
    if (!fd || bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) return failed();
    file_ = SocketFile(std::move(bound));
    if (::listen(fd.get(), SOMAXCONN) != 0) return failed();
    if (const auto* const node = registry_.node()) {
        if (auto written = write_identity(name_, *node); !written) return written;
    }
    timer_ = loop_.every(look_period, [this] { end_late(); });
    return acceptor_.start(std::move(fd));
}

/// Closes connections that have had no lane for `join_limit`.
void Server::end_late() {
    std::vector<SessionId> late;
    for (const auto& [id, session] : sessions_) {
        if (!session.lane && loop_.now() - session.since > join_limit) late.push_back(id);
    }
    for (const auto id : late) end(id);
}

/// Closes connections without a lane whose peer has hung up, before the loop reports it.
void Server::end_gone() {
    std::vector<SessionId> strangers;
    std::vector<pollfd> connections;
    for (const auto& [id, session] : sessions_) {
        if (session.lane) continue;
        strangers.push_back(id);
        connections.push_back({.fd = session.fd.get(), .events = 0, .revents = 0});
    }
    if (poll(connections.data(), connections.size(), 0) <= 0) return;
    for (std::size_t i = 0; i < strangers.size(); ++i) {
        if ((connections[i].revents & (POLLHUP | POLLERR)) != 0) end(strangers[i]);
    }
}

void Server::accept(FileDescriptor fd) {
    const auto full = [this] { return sessions_.size() - registry_.tenants().size() >= max_strangers; };
    if (full()) end_gone();
    if (full()) return;
    const auto id = ++last_id_;
    auto watch = loop_.watch(fd.get(), [this, id](std::uint32_t) { read(id); });
    if (!watch) return;
    std::ignore = setsockopt(fd.get(), SOL_SOCKET, SO_SNDBUF, &most_unread, sizeof(most_unread));
    sessions_.try_emplace(id, Session{std::move(fd), std::move(*watch), loop_.now(), std::nullopt, {}, {}});
}

void Server::read(SessionId id) {
    auto& session = sessions_.at(id);
    std::array<std::byte, largest_message> buffer;
    auto received = receive_with_descriptor(session.fd.get(), buffer, MSG_TRUNC);
    const auto n = received.size;
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0 || static_cast<std::size_t>(n) > buffer.size()) return end(id);
    const auto message = decode(std::span(buffer).first(static_cast<std::size_t>(n)));
    if (!message && message.error() == Malformed::other_version) {
        send_to(session.fd.get(), Refused{EPROTO, fmt::format("hub `{}` is of another release than this program; "
                                                              "restart it from the same one",
                                                              name_)});
    }
    session.descriptor = std::move(received.descriptor);
    if (!message || !serve(session, *message)) return end(id);
    session.descriptor = {};
}

bool Server::serve(Session& session, const Message& message) {
    if (const auto* join = std::get_if<Join>(&message)) return serve(session, *join);
    if (const auto* group = std::get_if<GroupMembership>(&message)) return serve(session, *group);
    if (const auto* wanted = std::get_if<Reserve>(&message)) return serve(session, *wanted);
    if (const auto* wanted = std::get_if<Rebind>(&message)) return serve(session, *wanted);
    if (const auto* port = std::get_if<Release>(&message)) return serve(session, *port);
    if (const auto* wanted = std::get_if<Resolve>(&message)) return serve(session, *wanted);
    if (const auto* wanted = std::get_if<Direct>(&message)) return serve(session, *wanted);
    if (const auto* over = std::get_if<DirectEnd>(&message)) return serve(session, *over);
    if (std::holds_alternative<AskSubnetPort>(message)) return tell_subnet_port(session);
    return serve_node(session, message);
}

/// What members of a node say, and no client of a hub. False: close the connection, also after what only a node says.
bool Server::serve_node(Session& session, const Message& message) {
    if (!session.lane) return false;
    return std::visit(
        [&]<class Said>(const Said& said) {
            if constexpr (requires { serve_member(session, said); }) {
                if (!XrcMessage<Said> || host_.xrc() != nullptr) return serve_member(session, said);
                return say(session, Refused{EOPNOTSUPP, "this port's programs have XRC domains of their own"});
            } else {
                return false;
            }
        },
        message);
}

bool Server::serve(Session& session, const Join& join) {
    if (session.lane) return false;
    const auto peer = peer_of(session.fd.get());
    if (!peer) return false;
    const auto lane = registry_.join(join, *peer);
    if (!lane) {
        send_to(session.fd.get(), lane.error());
        return false;
    }
    const auto& tenant = registry_.tenant(*lane);
    const auto socket = host_.open_lane(*lane, tenant);
    if (!socket) {
        registry_.leave(*lane);
        registry_.free(*lane);  // nobody has had it
        send_to(session.fd.get(), Refused{socket.error().code, socket.error().what});
        return false;
    }
    session.lane = *lane;
    const auto* const node = registry_.node();
    const auto member = node != nullptr ? std::to_underlying(*lane) : std::uint16_t{0};
    return send_to(session.fd.get(),
                   Granted{*socket, node != nullptr ? node->mac : tenant.mac, tenant.addresses, mtu_, member});
}

bool Server::serve(Session& session, const GroupMembership& group) {
    if (!session.lane) return false;
    const bool before = registry_.tenant(*session.lane).groups.contains(group.mac);
    const auto set = registry_.set_group(*session.lane, group);
    if (!set) return send_to(session.fd.get(), set.error());
    if (before == group.member) return send_to(session.fd.get(), Done{});
    const auto done = host_.set_group(*session.lane, group);
    if (done) return send_to(session.fd.get(), Done{});
    std::ignore = registry_.set_group(*session.lane, {.mac = group.mac, .member = before});
    return send_to(session.fd.get(), Refused{done.error().code, done.error().what});
}

bool Server::serve(Session& session, const Resolve& wanted) {
    if (!session.lane) return false;
    const auto mac = host_.resolve(wanted);
    return send_to(session.fd.get(), mac ? Resolved{*mac, 0} : Resolved{{}, mac.error().code});
}

/// A member that does not read its messages hears of it when it joins again.
void Server::set_addresses(const std::vector<InterfaceAddress>& addresses) {
    registry_.set_addresses(addresses);
    std::ignore = write_identity(name_, *registry_.node());  // else the file is old, and who joins learns better
    for (const auto& [id, session] : sessions_) {
        if (session.lane) send_to(session.fd.get(), Addresses{addresses});
    }
}

void Server::set_mac(const wire::MacAddress& mac) {
    registry_.set_mac(mac);
    std::ignore = write_identity(name_, *registry_.node());
}

bool Server::say(const Session& session, const Message& message) {
    return send_to(session.fd.get(), message);
}

void Server::end(SessionId id) {
    const auto session = sessions_.extract(id);
    if (const auto lane = session.mapped().lane) {
        leave_xrc(*lane);
        if (host_.subnet() != nullptr) host_.subnet()->forget(*lane);
        host_.close_lane(*lane);
        registry_.leave(*lane);
    }
}

}  // namespace verbline::hub
