// SPDX-License-Identifier: BSD-3-Clause
#include "control/gateway/program_commands.h"

#include <cerrno>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "datapath/link/interface_address.h"

namespace verbline::gateway {
namespace {

using Json = nlohmann::ordered_json;

/// Empty if the request does not say.
std::string text_of(const Json& request, const char* key) {
    const auto value = request.find(key);
    return value != request.end() && value->is_string() ? value->get<std::string>() : std::string();
}

Result<program::PrefixValue> value_of(const Json& request) {
    const auto value = request.find("value");
    if (value == request.end()) return 1;
    if (value->is_number_unsigned()) {
        const auto number = value->get<std::uint64_t>();
        if (number >= 1 && number <= std::numeric_limits<program::PrefixValue>::max())
            return static_cast<program::PrefixValue>(number);
    }
    return failure(EINVAL, fmt::format("the value of a prefix is a number from 1 to {}",
                                       std::numeric_limits<program::PrefixValue>::max()));
}

Result<std::vector<link::InterfaceAddress>> prefixes_of(const Json& request) {
    std::vector<link::InterfaceAddress> networks;
    const auto prefixes = request.find("prefixes");
    if (prefixes == request.end() || !prefixes->is_array() || prefixes->empty())
        return failure(EINVAL, "no prefixes are named");
    for (const auto& each : *prefixes) {
        const auto text = each.is_string() ? each.get<std::string>() : each.dump();
        const auto network = link::parse_interface_address(text);
        if (!network) return failure(EINVAL, fmt::format("{} is no network such as 10.9.0.0/16 or fd76:9::/32", text));
        if (*network != link::network_of(*network))
            return failure(EINVAL, fmt::format("{} has bits behind the prefix; did you mean {}?", text,
                                               to_string(link::network_of(*network))));
        networks.push_back(*network);
    }
    return networks;
}

Result<std::string> change_prefixes(Programs& programs, const Json& request, bool add) {
    const auto prefixes = prefixes_of(request);
    if (!prefixes) return std::unexpected(prefixes.error());
    const auto port = text_of(request, "port");
    if (!add) return programs.remove_prefixes(port, *prefixes);
    const auto value = value_of(request);
    if (!value) return std::unexpected(value.error());
    return programs.add_prefixes(port, *prefixes, *value);
}

}  // namespace

Result<std::string> run_program_command(Programs& programs, const Json& request) {
    const auto command = text_of(request, "command"), port = text_of(request, "port");
    const Programs::Source source{text_of(request, "file"), text_of(request, "section")};
    const bool loads = command == "program_load", replaces = command == "program_replace";
    if ((loads || replaces) && !source.file.starts_with('/'))
        return failure(EINVAL, "the file of a program is given from the root directory on");
    if (loads) return programs.load(port, source);
    if (replaces) return programs.replace(port, source);
    if (command == "program_unload") return programs.unload(port);
    if (command == "program_prefix_add") return change_prefixes(programs, request, true);
    if (command == "program_prefix_delete") return change_prefixes(programs, request, false);
    return failure(EINVAL, fmt::format("there is no command {}", command));
}

}  // namespace verbline::gateway
