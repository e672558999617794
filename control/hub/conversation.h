// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A client's questions to a hub and their answers, and what the hub says of direct links in between.

#include <cerrno>
#include <optional>
#include <string_view>
#include <vector>

#include "control/hub/client.h"
#include "control/hub/protocol.h"
#include "pmd/base/error.h"
#include "pmd/base/file_descriptor.h"

namespace verbline::hub {

/// A system call that signals of the program do not end: with a time limit, no SA_RESTART helps.
template <class Call>
auto uninterrupted(Call call) {
    auto result = call();
    while (result < 0 && errno == EINTR) result = call();
    return result;
}

/// One question, one answer; news that come before it are put behind `news`. `who` begins the line that says why there
/// is no answer.
Result<Message> ask(const FileDescriptor& control, const Message& question, std::string_view who,
                    std::vector<DirectNews>& news);

/// The next that the hub has said without being waited for. Nothing: there is none now. Never blocks.
std::optional<DirectNews> next_news(const FileDescriptor& control);

}  // namespace verbline::hub
