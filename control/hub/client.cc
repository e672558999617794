// SPDX-License-Identifier: BSD-3-Clause
#include "control/hub/client.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <fmt/format.h>

#include "control/hub/conversation.h"
#include "control/hub/directory.h"
#include "control/hub/protocol.h"
#include "pmd/runtime/runtime_directory.h"
#include "pmd/runtime/trusted_path.h"

namespace verbline::hub {
namespace {

std::string_view word(ServerKind kind) {
    return kind == ServerKind::node ? "node" : "hub";
}

std::unexpected<Error> no_hub(std::string_view name, ServerKind kind) {
    return failure(ENOENT, fmt::format("no {0} `{1}` runs here; start one with `verbline {0} {1}{2}`", word(kind), name,
                                       kind == ServerKind::node ? " --port DEVICE" : ""));
}

}  // namespace

Result<FileDescriptor> connect_to(std::string_view name, ServerKind kind) {
    if (!valid_name(name)) {
        return failure(EINVAL, fmt::format("`{}` is no {}'s name: at most 32 letters, digits, `.`, `_` and `-`, the "
                                           "first a letter or digit",
                                           name, word(kind)));
    }
    const std::string path = kind == ServerKind::node ? find_control_socket(name) : control_socket(name);
    if (auto good = pmd::check_path(path, pmd::runtime_advice); !good) {
        if (good.error().code == ENOENT || good.error().code == ENOTDIR) return no_hub(name, kind);
        return failure(good.error().code, fmt::format("{} `{}`: {}", word(kind), name, good.error().what));
    }
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    if (path.size() >= sizeof(address.sun_path)) {
        return failure(ENAMETOOLONG, fmt::format("{}: too long for a socket's path; set XDG_RUNTIME_DIR to a shorter "
                                                 "one",
                                                 path));
    }
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    FileDescriptor fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    const timeval limit{.tv_sec = answer_limit.count(), .tv_usec = 0};
    setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));  // also while connecting to a full backlog
    const auto connects = [&] {
        return connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address));
    };
    if (uninterrupted(connects) != 0) {
        if (errno == ENOENT || errno == ECONNREFUSED) return no_hub(name, kind);
        if (errno == EACCES && kind == ServerKind::node) {
            return failure(
                EACCES, fmt::format("node `{0}` is not for you: its --group or --mode must let you in; {1}: {2}", name,
                                    path, std::strerror(EACCES)));
        }
        return failure(errno, fmt::format("{} `{}`: {}: {}", word(kind), name, path, std::strerror(errno)));
    }
    if (auto good = pmd::check_server(fd.get(), path, pmd::runtime_advice); !good) {
        return failure(good.error().code, fmt::format("{} `{}`: {}", word(kind), name, good.error().what));
    }
    return fd;
}

Result<Lane> join(const JoinRequest& request) {
    if (request.addresses.size() > max_addresses) {
        return failure(EINVAL, fmt::format("{} addresses; a hub gives a program at most {}", request.addresses.size(),
                                           max_addresses));
    }
    if (const auto bad = std::ranges::find_if_not(request.addresses, link::usable); bad != request.addresses.end()) {
        return failure(EINVAL, fmt::format("{} is no address that a host can have", to_string(*bad)));
    }
    auto control = connect_to(request.hub, request.kind);
    if (!control) return std::unexpected(control.error());
    const auto who = fmt::format("{} `{}`", word(request.kind), request.hub);
    const Join join{.mac = request.mac,
                    .addresses = request.addresses,
                    .program = request.program.empty() ? program_invocation_short_name : request.program,
                    .direct = request.direct};
    News none;
    auto answer = ask(*control, join, who, none);
    if (!answer) return std::unexpected(answer.error());
    auto* granted = std::get_if<Granted>(&*answer);
    if (granted == nullptr) return unexpected_answer(who);
    if ((granted->member != 0) != (request.kind == ServerKind::node)) {
        return failure(EPROTO, fmt::format("`{0}` is a {1}; use {1}:{0}", request.hub,
                                           word(granted->member != 0 ? ServerKind::node : ServerKind::hub)));
    }
    return Lane{.control = std::move(*control),
                .memif_socket = std::move(granted->memif_socket),
                .mac = granted->mac,
                .member = granted->member != 0 ? std::optional(link::MemberId{granted->member}) : std::nullopt,
                .addresses = std::move(granted->addresses),
                .mtu = granted->mtu,
                .news = {}};
}

Result<void> join_group(const Lane& lane, wire::MacAddress group, const wire::Gid& mgid, wire::Lid mlid) {
    return ask_for_done(lane, GroupMembership{group, true, mgid, mlid});
}
Result<void> leave_group(const Lane& lane, wire::MacAddress group, const wire::Gid& mgid, wire::Lid mlid) {
    return ask_for_done(lane, GroupMembership{group, false, mgid, mlid});
}

Result<wire::MacAddress> resolve(const Lane& lane, const wire::Gid& from, const wire::Gid& to) {
    const auto resolved = ask_for<Resolved>(lane, Resolve{from, to});
    if (!resolved) return std::unexpected(resolved.error());
    if (resolved->code != 0) return failure(resolved->code, "the node has no next hop");
    return resolved->mac;
}

Result<std::uint16_t> reserve_port(const Lane& lane, std::uint16_t space, std::uint16_t port, const PortUse& use) {
    const auto reserved = ask_for<Reserved>(lane, Reserve{space, port, use});
    if (!reserved) return std::unexpected(reserved.error());
    if (port != 0 && reserved->port != port) return unexpected_answer(peer(lane));
    return reserved->port;
}
Result<void> rebind_port(const Lane& lane, const Rebind& wanted) {
    return ask_for_done(lane, wanted);
}
Result<void> release_port(const Lane& lane, std::uint16_t space, std::uint16_t port, const PortUse& use) {
    return ask_for_done(lane, Release{space, port, use});
}

std::optional<std::vector<InterfaceAddress>> take_addresses(const Lane& lane) {
    receive_news(lane.control, lane.news);
    return std::exchange(lane.news.addresses, std::nullopt);
}

bool runs(std::string_view name, ServerKind kind) {
    return connect_to(name, kind).has_value();
}

}  // namespace verbline::hub
