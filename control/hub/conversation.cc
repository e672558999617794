// SPDX-License-Identifier: BSD-3-Clause
#include "control/hub/conversation.h"

#include <array>
#include <cstring>
#include <span>
#include <utility>

#include <sys/socket.h>

#include <fmt/format.h>

#include "pmd/base/descriptor_message.h"

namespace verbline::hub {
namespace {

struct Heard {
    ssize_t size;  ///< as recv(2), and errno
    std::expected<Message, Malformed> message;
    FileDescriptor descriptor;
};

Heard hear(const FileDescriptor& control, int flags) {
    std::array<std::byte, largest_message> bytes;
    ReceivedMessage received;
    const auto receives = [&] { return (received = receive_with_descriptor(control.get(), bytes, flags)).size; };
    Heard heard{.size = uninterrupted(receives), .message = std::unexpected(Malformed::foreign), .descriptor = {}};
    if (heard.size > 0) heard.message = decode(std::span(bytes).first(static_cast<std::size_t>(heard.size)));
    heard.descriptor = std::move(received.descriptor);
    return heard;
}

/// Converts a message on a direct link. If its descriptor was lost (no free descriptors here), the link is unusable and
/// is to be ended by end_direct().
std::optional<DirectNews> to_news(Heard& heard) {
    using Kind = DirectNews::Kind;
    if (!heard.message) return std::nullopt;
    if (const auto* refused = std::get_if<DirectRefused>(&*heard.message)) {
        return DirectNews{.kind = Kind::refused, .peer = refused->peer, .id = {}, .code = refused->code, .socket = {}};
    }
    const auto link = [&](Kind kind, const auto& said) {
        return DirectNews{
            .kind = kind, .peer = said.peer, .id = said.id, .code = 0, .socket = std::move(heard.descriptor)};
    };
    if (const auto* granted = std::get_if<DirectGranted>(&*heard.message)) return link(Kind::granted, *granted);
    if (const auto* offer = std::get_if<DirectOffer>(&*heard.message)) return link(Kind::offered, *offer);
    return std::nullopt;
}

}  // namespace

Result<Message> ask(const FileDescriptor& control, const Message& question, std::string_view who,
                    std::vector<DirectNews>& news) {
    const auto bytes = encode(question);
    const auto sends = [&] { return send(control.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL); };
    if (uninterrupted(sends) < 0) {
        return failure(errno, fmt::format("{} has ended: {}", who, std::strerror(errno)));
    }
    auto heard = hear(control, 0);
    for (auto meanwhile = to_news(heard); meanwhile; meanwhile = to_news(heard)) {
        news.push_back(std::move(*meanwhile));
        heard = hear(control, 0);
    }
    if (heard.size == 0) return failure(ECONNRESET, fmt::format("{} has ended; start it again", who));
    if (heard.size < 0) {
        return failure(errno == EAGAIN ? ETIMEDOUT : errno,
                       fmt::format("{} does not answer within {} s; it may be stopped", who, answer_limit.count()));
    }
    if (!heard.message) return failure(EPROTO, fmt::format("{} is of another release than this program", who));
    if (const auto* refused = std::get_if<Refused>(&*heard.message)) return failure(refused->code, refused->reason);
    return std::move(*heard.message);
}

std::optional<DirectNews> next_news(const FileDescriptor& control) {
    for (;;) {
        auto heard = hear(control, MSG_DONTWAIT);
        if (heard.size <= 0) return std::nullopt;
        if (auto news = to_news(heard)) return news;  // else a late answer to a request that timed out
    }
}

}  // namespace verbline::hub
