// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/config/config_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>

#include <fmt/format.h>

namespace verbline::cli {
namespace {

constexpr std::size_t longest_file = 1 << 20;

}  // namespace

Result<std::string> read_config_file(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    std::string text(longest_file + 1, '\0');
    if (!in || (!in.read(text.data(), static_cast<std::streamsize>(text.size())) && !in.eof()))
        return failure(ENOENT, fmt::format("{}: cannot be read: {}", file, std::strerror(errno)));
    text.resize(static_cast<std::size_t>(in.gcount()));
    if (text.size() > longest_file) return failure(EFBIG, fmt::format("{}: larger than 1 MiB, no configuration", file));
    return text;
}

}  // namespace verbline::cli
