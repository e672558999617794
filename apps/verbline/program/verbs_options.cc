// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/program/verbs_options.h"

#include <CLI/CLI.hpp>

namespace verbline::cli {

void VerbsOptions::declare(CLI::App& app) {
    const auto several = [&](const char* name, std::vector<std::string>& values, const char* what, const char* type) {
        app.add_option(name, values, what)->expected(1)->take_all()->allow_extra_args(false)->type_name(type);
    };
    several("--link", links, "what carries the packets; each is a device; without it, hub:default", "LINK");
    several(
        "--ip", addresses,
        "an address of verbline0, e.g. 10.9.0.1/24, or of IPoIB if all links are ib:; without it, what the link gives",
        "CIDR");
    app.add_option("--mtu", mtu, "bytes behind the Ethernet header; without it, the link's own")->type_name("N");
    app.add_option("--impair", impair, "worsen the links, e.g. loss=0.01,seed=7")->type_name("SPEC");
    app.add_option("--capture", capture, "write packets to a pcapng file")->type_name("FILE");
    app.add_flag("--no-direct", no_direct, "on a hub, have no links with other programs but through it");
}

Result<verbs::Settings> VerbsOptions::settings() const {
    auto settings = verbs::settings_from_environment();
    if (!settings) return settings;
    if (!links.empty()) settings->links.clear(), settings->addresses.clear();
    for (const auto& text : links) {
        auto link = verbs::parse_link(text);
        if (!link) return std::unexpected(link.error());
        settings->links.push_back(std::move(*link));
    }
    if (!addresses.empty()) settings->addresses.clear();
    for (const auto& text : addresses) {
        const auto address = verbs::parse_address(text);
        if (!address) return std::unexpected(address.error());
        settings->addresses.push_back(*address);
    }
    if (mtu) {
        const auto parsed = verbs::parse_mtu(*mtu);
        if (!parsed) return std::unexpected(parsed.error());
        settings->mtu = *parsed;
    }
    if (impair) settings->impair = *impair;
    if (capture) settings->capture = *capture;
    if (no_direct) settings->direct = false;
    settings->sysfs.clear();
    if (auto good = verbs::check(*settings); !good) return std::unexpected(good.error());
    return settings;
}

}  // namespace verbline::cli
