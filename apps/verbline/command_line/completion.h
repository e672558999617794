// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Completion scripts for shells, made from the same manuals and option declarations as help and man pages (help.h).

#include <memory>
#include <span>
#include <string>

#include "apps/verbline/command_line/command.h"

namespace verbline::cli {

/// For bash, sourced or installed as bash-completion/completions/verbline. Needs no other script.
std::string bash_completion(std::span<const std::unique_ptr<Command>> commands);
/// For zsh, in a directory of its `fpath` as _verbline.
std::string zsh_completion(std::span<const std::unique_ptr<Command>> commands);

}  // namespace verbline::cli
