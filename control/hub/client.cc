// SPDX-License-Identifier: BSD-3-Clause
#include "control/hub/client.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

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

std::unexpected<Error> no_hub(std::string_view name) {
    return failure(ENOENT, fmt::format("no hub `{0}` runs here; start one with `verbline hub {0}`", name));
}

Result<FileDescriptor> connect_to(std::string_view name) {
    if (!valid_name(name)) {
        return failure(EINVAL, fmt::format("`{}` is no hub's name: at most 32 letters, digits, `.`, `_` and `-`, the "
                                           "first a letter or digit",
                                           name));
    }
    const std::string path = control_socket(name);
    if (auto good = pmd::check_path(path, pmd::runtime_advice); !good) {
        if (good.error().code == ENOENT || good.error().code == ENOTDIR) return no_hub(name);
        return failure(good.error().code, fmt::format("hub `{}`: {}", name, good.error().what));
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
        if (errno == ENOENT || errno == ECONNREFUSED) return no_hub(name);
        return failure(errno, fmt::format("hub `{}`: {}: {}", name, path, std::strerror(errno)));
    }
    if (auto good = pmd::check_server(fd.get(), path, pmd::runtime_advice); !good) {
        return failure(good.error().code, fmt::format("hub `{}`: {}", name, good.error().what));
    }
    return fd;
}

std::unexpected<Error> unexpected_answer(std::string_view who) {
    return failure(EPROTO, fmt::format("{} sent a reply of the wrong type", who));
}

/// Sends a request whose only positive reply is Done.
Result<void> request(const Lane& lane, const Message& what) {
    const auto answer = ask(lane.control, what, "the hub", lane.direct_news);
    if (!answer) return std::unexpected(answer.error());
    if (!std::holds_alternative<Done>(*answer)) return unexpected_answer("the hub");
    return {};
}

}  // namespace

Result<Lane> join(const JoinRequest& request) {
    if (request.addresses.size() > max_addresses) {
        return failure(EINVAL, fmt::format("{} addresses; a hub gives a program at most {}", request.addresses.size(),
                                           max_addresses));
    }
    if (const auto bad = std::ranges::find_if_not(request.addresses, link::usable); bad != request.addresses.end()) {
        return failure(EINVAL, fmt::format("{} is no address that a host can have", to_string(*bad)));
    }
    auto control = connect_to(request.hub);
    if (!control) return std::unexpected(control.error());
    const auto who = fmt::format("hub `{}`", request.hub);
    const Join join{.mac = request.mac,
                    .addresses = request.addresses,
                    .program = request.program.empty() ? program_invocation_short_name : request.program,
                    .direct = request.direct};
    std::vector<DirectNews> none;
    auto answer = ask(*control, join, who, none);
    if (!answer) return std::unexpected(answer.error());
    auto* granted = std::get_if<Granted>(&*answer);
    if (granted == nullptr) return unexpected_answer(who);
    return Lane{.control = std::move(*control),
                .memif_socket = std::move(granted->memif_socket),
                .mac = granted->mac,
                .addresses = std::move(granted->addresses),
                .mtu = granted->mtu,
                .direct_news = {}};
}

Result<void> join_group(const Lane& lane, wire::MacAddress group) {
    return request(lane, GroupMembership{group, true});
}
Result<void> leave_group(const Lane& lane, wire::MacAddress group) {
    return request(lane, GroupMembership{group, false});
}

Result<std::uint16_t> reserve_port(const Lane& lane, std::uint16_t space, std::uint16_t port) {
    const auto answer = ask(lane.control, Reserve{space, port}, "the hub", lane.direct_news);
    if (!answer) return std::unexpected(answer.error());
    const auto* const reserved = std::get_if<Reserved>(&*answer);
    if (reserved == nullptr || (port != 0 && reserved->port != port)) return unexpected_answer("the hub");
    return reserved->port;
}
Result<void> release_port(const Lane& lane, std::uint16_t space, std::uint16_t port) {
    return request(lane, Release{space, port});
}

bool runs(std::string_view name) {
    return connect_to(name).has_value();
}

}  // namespace verbline::hub
