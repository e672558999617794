// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/command_line/arguments.h"

#include <algorithm>

namespace verbline::cli {

Result<Arguments> split_arguments(std::span<const std::string> words) {
    Arguments out;
    const bool ours = words.empty() || !words[0].starts_with('-') || words[0] == "-h" || words[0] == "--help" ||
                      words[0] == "--version";
    if (ours) {
        out.command.assign(words.begin(), words.end());
        return out;
    }
    const auto end = std::ranges::find(words, "--");
    if (end == words.end())
        return failure(EINVAL, words[0] + " is no option of verbline; EAL arguments end with -- and a command follows");
    out.eal.assign(words.begin(), end);
    out.command.assign(end + 1, words.end());
    return out;
}

}  // namespace verbline::cli
