// SPDX-License-Identifier: BSD-3-Clause
// Direct links: two clients get one end of a socket each; the hub does not see what they exchange.
#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include <sys/socket.h>

#include "control/hub/server.h"
#include "control/hub/server_session.h"
#include "pmd/base/descriptor_message.h"

namespace verbline::hub {
namespace {

bool send_to(const FileDescriptor& client, const Message& message, const FileDescriptor& end) {
    const auto bytes = encode(message);
    return send_with_descriptor(client.get(), bytes, end.get(), MSG_DONTWAIT) == static_cast<ssize_t>(bytes.size());
}

struct SocketPair {
    FileDescriptor asker, peer;
};

std::optional<SocketPair> make_pair() {
    std::array<int, 2> ends{-1, -1};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) != 0) return std::nullopt;
    return SocketPair{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

}  // namespace

bool Server::serve(Session& session, const Direct& wanted) {
    if (!session.lane) return false;
    const auto link = registry_.link_directly(*session.lane, wanted);
    const int code = link ? introduce(session, *link) : link.error();
    if (code == 0) {
        counters_.direct_granted.add();
        return true;
    }
    counters_.direct_refused.add();
    return send_to(session.fd, DirectRefused{wanted.peer, code}, {});
}

/// 0, or why there is no link between the two. The offer goes first: once both have their ends nothing can fail.
int Server::introduce(Session& asker, DirectId link) {
    const auto give_up = [&](int code) {
        registry_.end_direct(*asker.lane, link);
        return code;
    };
    const auto lane = registry_.direct_links().at(link).peer;
    const auto peer =
        std::ranges::find(sessions_, std::optional(lane), [](const auto& each) { return each.second.lane; });
    if (peer == sessions_.end()) return give_up(ENOENT);
    const auto ends = make_pair();
    if (!ends) return give_up(errno);
    // One that does not read its messages misses an offer and nothing else.
    const auto &from = registry_.tenant(*asker.lane), &to = registry_.tenant(lane);
    if (!send_to(peer->second.fd, DirectOffer{from.mac, link}, ends->peer)) return give_up(EAGAIN);
    if (!send_to(asker.fd, DirectGranted{to.mac, link}, ends->asker)) return give_up(EAGAIN);
    return 0;
}

bool Server::serve(Session& session, const DirectEnd& over) {
    if (!session.lane) return false;
    registry_.end_direct(*session.lane, over.id);
    return true;
}

}  // namespace verbline::hub
