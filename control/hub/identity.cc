// SPDX-License-Identifier: BSD-3-Clause
#include "control/hub/identity.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>

#include "control/hub/directory.h"
#include "datapath/wire/text.h"

namespace verbline::hub {
namespace {

constexpr const char* file_name = "identity";

}  // namespace

Result<void> write_identity(std::string_view node, const NodeIdentity& identity) {
    const auto file = directory(node) / file_name, next = directory(node) / "identity.new";
    std::ofstream out(next, std::ios::trunc);
    out << "mac " << wire::to_string(identity.mac) << '\n';
    for (const auto& address : identity.addresses) out << "address " << link::to_string(address) << '\n';
    if (identity.fabric) out << "host " << identity.fabric->host << "\nfabric " << identity.fabric->fabric << '\n';
    out.close();
    std::error_code problem;
    if (out) std::filesystem::rename(next, file, problem);
    if (out && !problem) return {};
    const int code = problem ? problem.value() : errno;
    return failure(code, fmt::format("{}: {}", file.string(), std::strerror(code)));
}

std::optional<NodeIdentity> read_identity(std::string_view node) {
    std::ifstream in(find_control_socket(node).parent_path() / file_name);
    std::optional<NodeIdentity> found;
    for (std::string kind, text; in >> kind >> text;) {
        if (kind == "mac") {
            const auto mac = wire::from_string<wire::MacAddress>(text);
            if (!mac) return std::nullopt;
            found.emplace().mac = *mac;
        } else if (found && kind == "host") {
            found->fabric = FabricPlace{text, {}};
        } else if (found && found->fabric && kind == "fabric") {
            found->fabric->fabric = text;
        } else if (const auto address = link::parse_ipoib_address(text); found && kind == "address" && address) {
            found->addresses.push_back(*address);
        }
    }
    return found;
}

void remove_identity(std::string_view node) {
    std::error_code none;
    std::filesystem::remove(directory(node) / file_name, none);
}

}  // namespace verbline::hub
