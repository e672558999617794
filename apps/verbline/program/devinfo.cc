// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/program/devinfo.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "apps/libibverbs/launch/launch.h"
#include "apps/libibverbs/launch/preflight.h"
#include "apps/verbline/program/verbs_library.h"
#include "apps/verbline/program/verbs_options.h"

namespace verbline::cli {
namespace {

/// Members of members as members, "device.rx_packets", and lists as words: what one line each can hold. Counters that
/// have counted nothing are left out.
void flatten(const Json& object, const std::string& prefix, Json& out) {
    for (const auto& [key, value] : object.items()) {
        if (value.is_object()) {
            flatten(value, prefix + key + ".", out);
        } else if (!prefix.empty() && value == 0) {
            continue;
        } else if (value.is_array()) {
            std::string words;
            for (const auto& word : value)
                words += (words.empty() ? "" : " ") + (word.is_string() ? word.get<std::string>() : word.dump());
            out[prefix + key] = words;
        } else {
            out[prefix + key] = value;
        }
    }
}

Json flat(const Json& object) {
    auto out = Json::object();
    flatten(object, {}, out);
    return out;
}

std::string render_device(Json device) {
    const auto ports = std::exchange(device["ports"], nullptr), link = std::exchange(device["link"], nullptr);
    device.erase("ports"), device.erase("link");
    auto text = render_object(device);
    for (auto port : ports) {
        const auto gids = std::exchange(port["gids"], nullptr);
        port.erase("gids");
        text += "\n" + render_object(port);
        if (!gids.empty()) text += "\n" + render_table(gids);
    }
    if (!link.empty()) text += "\n" + render_object(flat(link));
    return text;
}

class Devinfo final : public Command {
public:
    Manual manual() const override {
        return {
            .name = "devinfo",
            .summary = "show the devices that programs see, and the links behind them",
            .synopsis = "[--link LINK]... [--ip CIDR]... [--mtu N] [--impair SPEC] [--capture FILE] [--json]",
            .description = {"Opens each device as a program under verbline run with the same options would, and prints "
                            "what ibv_devinfo -v prints, field for field, then the link that carries its packets: the "
                            "MAC address, the addresses, the hub's lane, the counters.",
                            "The options are those of verbline run."},
            .examples = {{"verbline devinfo", "the device on the default hub"},
                         {"verbline devinfo --link eth:eth1 --json", "the device on an Ethernet interface, as JSON"}},
            .see_also = {"verbline-run(1)", "ibv_devinfo(1)"},
        };
    }

    void declare(CLI::App& app) override {
        app.set_help_flag("-h,--help", "print this help");
        options_.declare(app);
        app.add_flag("--json", json_, "print JSON");
    }

    Outcome run(const CommandContext& /*context*/) override {
        auto settings = options_.settings();
        if (!settings) return failed(settings.error());
        const auto program = verbs::own_program();
        const auto file = verbs::find_library(program);
        if (!file) return failed(file.error());
        if (const auto good = verbs::check_links(*settings, program); !good) return failed(good.error());
        std::ignore = verbs::make_entries(*settings);  // only the name of the board is looked for there
        verbs::set_environment(*settings, *file);
        const auto library = VerbsLibrary::open(*file);
        if (!library) return failed(library.error());
        const auto devices = library->devices();
        if (!devices) return failed(devices.error());
        print(*devices);
        return {};
    }

private:
    static Outcome failed(const Error& error) { return run_failure("devinfo: " + error.what); }

    void print(const Json& devices) const {
        if (json_) {
            fmt::print("{}", render_json(devices));
            return;
        }
        std::string_view gap;
        for (const auto& device : devices) fmt::print("{}{}", std::exchange(gap, "\n"), render_device(device));
    }

    VerbsOptions options_;
    bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_devinfo() {
    return std::make_unique<Devinfo>();
}

}  // namespace verbline::cli
