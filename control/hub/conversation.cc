// SPDX-License-Identifier: BSD-3-Clause
#include "control/hub/conversation.h"

#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include <sys/socket.h>

#include <fmt/format.h>

#include "pmd/base/descriptor_message.h"

namespace verbline::hub {
namespace {

struct Reply {
    ssize_t size;  ///< as recv(2), and errno
    std::expected<Message, Malformed> message;
    FileDescriptor descriptor;
};

Reply receive(const FileDescriptor& control, int flags) {
    std::array<std::byte, largest_message> bytes;
    DescriptorMessage received;
    const auto receives = [&] { return (received = receive_with_descriptor(control.get(), bytes, flags)).size; };
    Reply reply{.size = uninterrupted(receives), .message = std::unexpected(Malformed::foreign), .descriptor = {}};
    if (reply.size > 0) reply.message = decode(std::span(bytes).first(static_cast<std::size_t>(reply.size)));
    reply.descriptor = std::move(received.descriptor);
    return reply;
}

/// Converts a message on a direct link. If its descriptor was lost (no free descriptors here), the link is unusable and
/// is to be ended by end_direct().
std::optional<DirectNews> to_news(Reply& reply) {
    using Kind = DirectNews::Kind;
    if (!reply.message) return std::nullopt;
    if (const auto* refused = std::get_if<DirectRefused>(&*reply.message)) {
        return DirectNews{.kind = Kind::refused, .peer = refused->peer, .id = {}, .code = refused->code, .socket = {}};
    }
    const auto link = [&](Kind kind, const auto& said) {
        return DirectNews{
            .kind = kind, .peer = said.peer, .id = said.id, .code = 0, .socket = std::move(reply.descriptor)};
    };
    if (const auto* granted = std::get_if<DirectGranted>(&*reply.message)) return link(Kind::granted, *granted);
    if (const auto* offer = std::get_if<DirectOffer>(&*reply.message)) return link(Kind::offered, *offer);
    return std::nullopt;
}

/// False: it is nothing of a subnet.
bool keep_found(const Message& message, SubnetNews& news) {
    if (const auto* const port = std::get_if<SubnetPort>(&message)) {
        news.port = *port;
    } else if (const auto* const neighbour = std::get_if<NeighbourFound>(&message)) {
        news.neighbours.push_back(*neighbour);
    } else if (const auto* const path = std::get_if<PathFound>(&message)) {
        news.paths.push_back(*path);
    } else if (const auto* const group = std::get_if<SubnetGroup>(&message)) {
        news.groups.push_back(*group);
    } else {
        return false;
    }
    return true;
}

/// False: it is an answer.
bool keep(Reply& reply, News& news) {
    if (auto direct = to_news(reply)) {
        news.direct.push_back(std::move(*direct));
        return true;
    }
    if (!reply.message) return false;
    if (auto* const addresses = std::get_if<Addresses>(&*reply.message)) {
        news.addresses = std::move(addresses->addresses);
        return true;
    }
    if (const auto* const target = std::get_if<XrcTarget>(&*reply.message)) {
        news.xrc_targets.push_back(*target);
        return true;
    }
    return keep_found(*reply.message, news.subnet);
}

}  // namespace

Result<Message> ask(const FileDescriptor& control, const Message& question, std::string_view who, News& news,
                    int descriptor) {
    const auto bytes = encode(question);
    const auto sends = [&] { return send_with_descriptor(control.get(), bytes, descriptor); };
    if (uninterrupted(sends) < 0) {
        return failure(errno, fmt::format("{} has ended: {}", who, std::strerror(errno)));
    }
    auto reply = receive(control, 0);
    while (keep(reply, news)) reply = receive(control, 0);
    if (reply.size == 0) return failure(ECONNRESET, fmt::format("{} has ended; start it again", who));
    if (reply.size < 0) {
        return failure(errno == EAGAIN ? ETIMEDOUT : errno,
                       fmt::format("{} does not answer within {} s; it may be stopped", who, answer_limit.count()));
    }
    if (!reply.message) return failure(EPROTO, fmt::format("{} is of another release than this program", who));
    if (const auto* refused = std::get_if<Refused>(&*reply.message)) return failure(refused->code, refused->reason);
    return std::move(*reply.message);
}

std::unexpected<Error> unexpected_answer(std::string_view who) {
    return failure(EPROTO, fmt::format("{} sent a reply of the wrong type", who));
}

std::string_view peer(const Lane& lane) {
    return lane.member ? "the node" : "the hub";
}

bool say(const Lane& lane, const Message& message) {
    const auto bytes = encode(message);
    const auto sends = [&] {
        return send(lane.control.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    };
    return uninterrupted(sends) == static_cast<ssize_t>(bytes.size());
}

void receive_news(const FileDescriptor& control, News& news) {
    for (;;) {
        auto reply = receive(control, MSG_DONTWAIT);
        if (reply.size <= 0) return;
        keep(reply, news);  // if it is none, it is a late answer to a request that timed out
    }
}

}  // namespace verbline::hub
