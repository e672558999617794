// SPDX-License-Identifier: BSD-3-Clause
#include "apps/forwarder/options.h"

#include <algorithm>
#include <span>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace verbline::forwarder {

Result<std::optional<Options>> parse_options(int argc, const char* const* argv) {
    const std::span words(argv + 1, argv + argc);
    const auto end = std::ranges::find(words, std::string_view("--"));
    Options options;
    if (end != words.end()) options.eal.assign(words.begin(), end);
    CLI::App app(
        "Frames of each of two devices go out of the other, until SIGINT or SIGTERM; then prints what was counted.\n"
        "Arguments before -- go to DPDK.",
        "forwarder");
    std::string left, right;
    const auto* const kinds = "tap:IFNAME[,netns=NS], eth:IFNAME, memif:SOCKET[,server] or dpdk:DEVARGS";
    app.add_option("LEFT", left, kinds)->required();
    app.add_option("RIGHT", right, "the same")->required();
    try {
        std::vector<std::string> ours(end != words.end() ? end + 1 : words.begin(), words.end());
        std::ranges::reverse(ours);  // as CLI11 wants it
        app.parse(ours);
    } catch (const CLI::Success& success) {
        app.exit(success);
        return std::nullopt;
    } catch (const CLI::ParseError& error) {
        return failure(EINVAL, fmt::format("{}; see --help", error.what()));
    }
    for (const auto& [text, spec] : {std::pair(&left, &options.left), std::pair(&right, &options.right)}) {
        auto parsed = pmd::parse_device_spec(*text);
        if (!parsed) return std::unexpected(parsed.error());
        *spec = std::move(*parsed);
    }
    return options;
}

}  // namespace verbline::forwarder
