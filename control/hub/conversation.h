// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A client's requests to a hub and their answers, and the hub's unasked messages.

#include <cerrno>
#include <string_view>

#include "control/hub/client.h"
#include "control/hub/protocol.h"
#include "pmd/base/error.h"
#include "pmd/base/file_descriptor.h"

namespace verbline::hub {

/// Repeats a system call on EINTR; SA_RESTART does not cover calls with a time limit.
template <class Call>
auto uninterrupted(Call call) {
    auto result = call();
    while (result < 0 && errno == EINTR) result = call();
    return result;
}

/// A connection to the server of this name, whose owner is trusted. Errors as of `join`.
Result<FileDescriptor> connect_to(std::string_view name, ServerKind kind);

/// Sends a request and waits for its answer; unasked messages that come first go to `news`. `who` begins the error
/// text. `descriptor` goes with the request, unless it is -1.
Result<Message> ask(const FileDescriptor& control, const Message& question, std::string_view who, News& news,
                    int descriptor = -1);

std::unexpected<Error> unexpected_answer(std::string_view who);
/// In error texts: what the lane is one of.
std::string_view peer(const Lane& lane);

/// A request whose only positive reply is this one.
template <class Reply>
Result<Reply> ask_for(const Lane& lane, const Message& question, int descriptor = -1) {
    const auto answer = ask(lane.control, question, peer(lane), lane.news, descriptor);
    if (!answer) return std::unexpected(answer.error());
    const auto* const reply = std::get_if<Reply>(&*answer);
    if (reply == nullptr) return unexpected_answer(peer(lane));
    return *reply;
}
inline Result<void> ask_for_done(const Lane& lane, const Message& question) {
    const auto answer = ask_for<Done>(lane, question);
    if (!answer) return std::unexpected(answer.error());
    return {};
}

/// Sends what has no answer, or whose answer is news. False: it cannot be sent now.
bool say(const Lane& lane, const Message& message);

/// Receives the hub's unasked messages. Never blocks.
void receive_news(const FileDescriptor& control, News& news);

}  // namespace verbline::hub
