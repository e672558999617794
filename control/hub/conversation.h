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

/// Sends a request and waits for its answer; unasked messages that come first go to `news`. `who` begins the error
/// text.
Result<Message> ask(const FileDescriptor& control, const Message& question, std::string_view who, News& news);

/// Receives the hub's unasked messages. Never blocks.
void receive_news(const FileDescriptor& control, News& news);

}  // namespace verbline::hub
