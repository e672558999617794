// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/ucma/command.h"

namespace verbline::verbs {

Result<Command> Command::read(std::uint64_t address, std::size_t length) {
    Command command;
    auto& header = command.header_;
    if (length < sizeof header) return failure(EINVAL, "no header");
    if (auto read = read_user<rdma_ucm_cmd_hdr>(address))
        header = *read;
    else
        return std::unexpected(read.error());
    if (header.in > length - sizeof header) return failure(EINVAL, "shorter than its header states");
    const auto input = std::span(command.input_).first(std::min<std::size_t>(header.in, largest));
    if (auto read = read_user(address + sizeof header, input); !read) return std::unexpected(read.error());
    return command;
}

}  // namespace verbline::verbs
