// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/launch/preflight.h"

#include <cerrno>
#include <cstring>

#include <unistd.h>

#include <fmt/format.h>

#include "apps/libibverbs/launch/link_check.h"
#include "apps/libibverbs/launch/program_file.h"
#include "apps/libibverbs/settings/fabric_port.h"
#include "control/hub/client.h"
#include "datapath/link/soft_ib.h"
#include "pmd/impair/spec.h"

namespace verbline::verbs {
namespace {

namespace fs = std::filesystem;

/// Requests the addresses from the hub as the program will, and releases them at once.
Result<void> check_hub(const HubLink& link, std::span<const InterfaceAddress> addresses, const std::string& program) {
    if (link.name == default_hub && !hub::runs(link.name))
        if (auto started = hub::start(link.name, program); !started) return started;
    const auto lane =
        hub::join({.hub = link.name, .mac = {}, .addresses = {addresses.begin(), addresses.end()}, .program = {}});
    if (!lane) return std::unexpected(lane.error());
    return {};
}

Result<void> check_node(const NodeLink& link, std::span<const InterfaceAddress> addresses) {
    const auto lane = hub::join({.hub = link.name,
                                 .kind = hub::ServerKind::node,
                                 .addresses = {addresses.begin(), addresses.end()},
                                 .program = {}});
    if (!lane) return std::unexpected(lane.error());
    return {};
}

/// Queries the fabric as the program will, and then its hub, which is of no use without it.
Result<void> check_fabric(const InfinibandLink& link, const std::string& program) {
    const auto port = fabric_port(link);
    if (!port) return std::unexpected(port.error());
    if (!hub::runs(link.fabric))
        if (auto started = hub::start(link.fabric, program); !started) return started;
    const auto lane = join_fabric(link, link::soft_ib::mac_of(port->lid));
    if (!lane) return std::unexpected(lane.error());
    return {};
}

Result<void> check_capture(const std::string& file) {
    std::error_code problem;
    if (file.empty()) return {};
    const auto directory = fs::absolute(file).parent_path();
    const bool exists = fs::exists(file, problem);
    if (exists && fs::is_directory(file, problem))
        return failure(EISDIR, fmt::format("cannot capture to {}: it is a directory; name a file", file));
    if (access(exists ? file.c_str() : directory.c_str(), W_OK) == 0) return {};
    return failure(errno,
                   fmt::format("cannot capture to {}: {}; name a file that you may write", file, std::strerror(errno)));
}

}  // namespace

Result<void> check_links(const Settings& settings, const std::string& hub_program) {
    if (auto good = check(settings); !good) return good;
    if (!settings.impair.empty())
        if (const auto spec = pmd::parse_impairments(settings.impair); !spec) return std::unexpected(spec.error());
    if (auto good = check_capture(settings.capture); !good) return good;
    std::span<const InterfaceAddress> addresses = settings.addresses;
    for (const auto& link : settings.links) {
        Result<void> good;
        if (const auto* hub = std::get_if<HubLink>(&link))
            good = check_hub(*hub, addresses, hub_program);
        else if (const auto* node = std::get_if<NodeLink>(&link))
            good = check_node(*node, addresses);
        else if (const auto* port = std::get_if<InfinibandLink>(&link))
            good = check_fabric(*port, hub_program);
        else
            good = check_local_link(link, addresses);
        if (!good) return failure(good.error().code, fmt::format("{}: {}", text(link), good.error().what));
        if (!is_infiniband(link)) addresses = {};  // they are the first one's
    }
    return {};
}

Result<void> preflight(const Settings& settings, const Launch& launch) {
    if (auto good = check_preload(launch.program, launch.library); !good) return good;
    return check_links(settings, launch.hub_program);
}

}  // namespace verbline::verbs
