// SPDX-License-Identifier: BSD-3-Clause
#include "apps/forwarder/options.h"

#include <utility>

#include <CLI/CLI.hpp>

#include "apps/environment/command_line.h"

namespace verbline::forwarder {

Result<std::optional<Options>> parse_options(int argc, const char* const* argv) {
    Options options;
    CLI::App app(
        "Frames of each of two devices go out of the other, until SIGINT or SIGTERM; then prints what was counted.\n"
        "Arguments before -- go to DPDK.",
        "forwarder");
    std::string left, right;
    const auto* const kinds = "tap:IFNAME[,netns=NS], eth:IFNAME, memif:SOCKET[,server] or dpdk:DEVARGS";
    app.add_option("LEFT", left, kinds)->required();
    app.add_option("RIGHT", right, "the same")->required();
    auto eal = parse_command_line(app, argc, argv);
    if (!eal) return std::unexpected(eal.error());
    if (!*eal) return std::nullopt;
    options.eal = std::move(**eal);
    for (const auto& [text, spec] : {std::pair(&left, &options.left), std::pair(&right, &options.right)}) {
        auto parsed = pmd::parse_device_spec(*text);
        if (!parsed) return std::unexpected(parsed.error());
        *spec = std::move(*parsed);
    }
    return options;
}

}  // namespace verbline::forwarder
