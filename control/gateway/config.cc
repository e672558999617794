// SPDX-License-Identifier: BSD-3-Clause
#include "control/gateway/config.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

namespace verbline::gateway {

const PortConfig* find_port(const GatewayConfig& config, std::string_view name) {
    const auto found = std::ranges::find(config.ports, name, &PortConfig::name);
    return found == config.ports.end() ? nullptr : &*found;
}

Error config_error(const std::string& file, unsigned line, std::string reason) {
    std::ranges::replace_if(reason, [](unsigned char c) { return std::iscntrl(c) != 0; }, '?');
    return {EINVAL, file.empty() ? std::move(reason) : fmt::format("{}:{}: {}", file, line, reason)};
}

}  // namespace verbline::gateway
