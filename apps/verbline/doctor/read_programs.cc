// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <cerrno>

#include <nlohmann/json.hpp>

#include "apps/verbline/doctor/fact_reader.h"

namespace verbline::doctor {
namespace {

using Document = nlohmann::json;

/// An element of an object; null: it has none, or is no object.
Document member(const Document& object, const std::string& key) {
    const auto found = object.is_object() ? object.find(key) : object.end();
    return found == object.end() ? Document() : *found;
}

std::optional<bool> boolean(const Document& value) {
    return value.is_boolean() ? std::optional(value.get<bool>()) : std::nullopt;
}

/// {"param":{"pci/0000:3b:00.0":[{"name":"enable_roce","values":[{"cmode":"driverinit","value":true}]}]}}
std::optional<bool> enable_roce(const Document& printed, const std::string& address) {
    for (const auto& parameter : member(member(printed, "param"), "pci/" + address))
        if (member(parameter, "name") == "enable_roce")
            for (const auto& value : member(parameter, "values"))
                if (member(value, "cmode") == "driverinit") return boolean(member(value, "value"));
    return std::nullopt;
}

/// [{"ifname":"eth0","autonegotiate":false,"rx":true,"tx":true}]
std::optional<Pause> pause_of(const Document& printed) {
    const auto first = printed.is_array() && !printed.empty() ? printed.front() : Document();
    const auto receive = boolean(member(first, "rx"));
    const auto transmit = boolean(member(first, "tx"));
    if (!receive || !transmit) return std::nullopt;
    return Pause{.receive = *receive, .transmit = *transmit};
}

Document parsed(const std::string& text) {
    return Document::parse(text, nullptr, false);  // what is no JSON has no members
}

}  // namespace

bool FactReader::add_missing(Facts& facts, const Error& error, MissingTool tool) const {
    if (error.code != ENOENT && error.code != ETIMEDOUT) return false;  // the driver has no such thing
    tool.installed = error.code == ETIMEDOUT;
    facts.missing_tools.push_back(std::move(tool));
    return true;
}

void FactReader::ask_devlink(Facts& facts) {
    const auto asked = [](const Port& port) { return port.is_mlx5() && port.driver == "mlx5_core"; };
    if (std::ranges::none_of(facts.ports, asked)) return;
    const std::array<std::string, 5> words{"devlink", "-j", "dev", "param", "show"};
    const auto printed = programs_.output(words);
    if (!printed) {
        add_missing(facts, printed.error(),
                    {.program = "devlink", .package = "iproute2", .unknown = "whether RoCE is enabled (enable_roce)"});
        return;
    }
    const auto document = parsed(*printed);
    for (auto& port : facts.ports)
        if (asked(port)) port.enable_roce = enable_roce(document, port.address);
}

void FactReader::ask_ethtool(Facts& facts) {
    for (auto& port : facts.ports) {
        for (auto& interface : port.interfaces) {
            if (interface.type != Interface::ethernet) continue;
            const std::array<std::string, 4> words{"ethtool", "--json", "-a", interface.name};
            const auto printed = programs_.output(words);
            if (printed) {
                interface.pause = pause_of(parsed(*printed));
            } else if (add_missing(facts, printed.error(),
                                   {.program = "ethtool", .package = "ethtool", .unknown = "flow control"})) {
                return;
            }
        }
    }
}

}  // namespace verbline::doctor
