// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Reads the file of `bench packet --profile`: the command's options under their long names, and a [[run]] for each
/// measurement that differs from the others in some of them. config/profiles has some.
///
/// Reading is strict, as that of gateway.toml: each error is one line `FILE:LINE: reason`.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pmd/base/error.h"

namespace verbline::bench {

/// What a key may be called, and whether it is true or false rather than text or a number.
struct OptionKind {
    std::string name;  ///< long, without hyphens; `device` for the arguments
    bool flag = false;
    bool bare = false;  ///< it may stand without a value, which a file then has as true
};

/// An option that was set, in a file or on the command line.
struct SetOption {
    std::string name;
    std::vector<std::string> values;  ///< one, but of `device`; of a flag "true" or "false"
    unsigned line = 0;                ///< of the file; 0: it was on the command line
};

struct ProfileRun {
    std::string name;  ///< for the tables; empty: none was given
    std::vector<SetOption> options;
    unsigned line = 0;
};

struct Profile {
    std::string file, description;
    std::string eal;                 ///< the EAL arguments that it is meant for; empty: not said
    std::vector<SetOption> options;  ///< of all runs
    std::vector<ProfileRun> runs;    ///< empty: there is one, of these options
};

Result<Profile> load_profile(const std::string& file, std::span<const OptionKind> known);
/// Like `load_profile`, for the text of a file.
Result<Profile> parse_profile(std::string_view text, const std::string& file, std::span<const OptionKind> known);

/// One line for the user if DPDK was started with other arguments than the profile is meant for; empty: it was not.
std::string eal_note(const Profile& profile, std::span<const std::string> eal_arguments);

}  // namespace verbline::bench
