// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/packet_program/packet_program.h"

#include <cstdio>
#include <variant>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "apps/verbline/instance/answering.h"
#include "apps/verbline/instance/instance.h"
#include "apps/verbline/instance/telemetry_client.h"
#include "apps/verbline/output/table.h"
#include "apps/verbline/packet_program/command_client.h"
#include "apps/verbline/packet_program/program_request.h"

namespace verbline::cli {
namespace {

class PacketProgram final : public Command {
public:
    Manual manual() const override {
        return {
            .name = "program",
            .summary = "load, replace and feed the packet programs of a gateway's ports",
            .synopsis =
                "[show [PORT]] [--name NAME] [--json]\n"
                "load PORT FILE [--section SECTION] [--name NAME]\n"
                "replace PORT FILE [--section SECTION] [--name NAME]\n"
                "unload PORT [--name NAME]\n"
                "counters [PORT] [--name NAME] [--json]\n"
                "prefix add PORT PREFIX... [--value N] [--name NAME]\n"
                "prefix delete PORT PREFIX... [--name NAME]\n"
                "prefix list [PORT] [--name NAME] [--json]",
            .description =
                {"A packet program is an eBPF object that a gateway or host runs on every IP packet that a port "
                 "receives from its link, before it routes the packet: it lets it pass, drops it, or forwards it to a "
                 "port. DPDK's rte_bpf verifies it, and compiles it where it can. How to write one is explained in "
                 "verbline_program.h; two examples, which drop and which police by prefix, are beside gateway.toml.",
                 "show prints, for each port, its number, what runs there and what became of packets: passed, dropped, "
                 "forwarded, aborted (dropped as the program failed) and no_port (dropped as it named a port that "
                 "there is not). LOADS is how many programs the port has had; RETIRED counts programs and sets of "
                 "prefixes that were replaced and are not freed yet, as a core may still be using them.",
                 "load gives a port a program, replace gives it another one, unload takes it away. The cores go from "
                 "one to the other between two bursts: no packet is lost or misses both. FILE is read by the "
                 "instance, as its user. An object that is refused changes nothing, and the verifier's reason is "
                 "printed. SECTION names one of an object's several programs.",
                 "counters prints those that programs count by themselves and that are not zero, summed over all "
                 "cores. prefix changes and lists the set in which a program looks addresses up; N is what it finds "
                 "there, 1 if left out. Prefixes and counters are the port's and stay when a program is replaced; "
                 "counters begin at zero when there was none before.",
                 "What is changed here is gone when the instance ends: gateway.toml says which program a port begins "
                 "with. On SIGHUP a port gets the program of the file again, if another runs. Only root and the "
                 "instance's own user may change anything. NAME may be left out while only one gateway or host runs."},
            .examples = {{"verbline program", "which programs run, and what became of packets"},
                         {"verbline program load lan /etc/verbline/drop_prefixes.o", "give port lan a program"},
                         {"verbline program prefix add lan 10.9.0.0/16 fd76:9::/32", "put two prefixes in its set"},
                         {"verbline program replace lan police.o --name gw",
                          "another program, for port lan of the gateway gw"}},
            .see_also = {"verbline-gateway(1)", "verbline-show(1)"},
        };
    }

    void declare(CLI::App& app) override {
        app.set_help_flag("-h,--help", "print this help");
        app.add_option("ACTION", words_, "show, load, replace, unload, counters, prefix; without any, show");
        app.add_option("--section", options_.section, "which of the object's programs")->type_name("SECTION");
        app.add_option("--value", options_.value, "what a lookup finds, at least 1; without it, 1")
            ->type_name("N")
            ->check(CLI::Range(1u, 4'294'967'295u));
        app.add_option("--name", name_, "the instance, as its configuration calls it")->type_name("NAME");
        app.add_flag("--json", json_, "print JSON");
    }

    Outcome run(const CommandContext& /*context*/) override {
        const auto asked = program_request(words_, options_);
        if (!asked) return usage_failure(asked.error().what);
        const auto instance = chosen_instance();
        if (!instance) return run_failure(instance.error().what);
        if (const auto* table = std::get_if<ProgramTable>(&*asked)) return print(*instance, *table);
        return send(*instance, std::get<ProgramRequests>(*asked));
    }

private:
    /// The one named, or the only one that has programs.
    Result<Instance> chosen_instance() const {
        if (!name_.empty()) return find_instance(name_);
        std::vector<Instance> with_programs;
        for (const auto& each : answering_instances())
            if (each.serves("programs")) with_programs.push_back(each.instance);
        if (with_programs.size() == 1) return with_programs.front();
        auto found = find_instance("");
        if (!found || !with_programs.empty()) return found;
        return failure(ENOENT, fmt::format("{} has no packet programs; a gateway or host does", found->name));
    }

    Outcome print(const Instance& instance, const ProgramTable& asked) const {
        auto client = TelemetryClient::connect(instance.socket, instance.trust);
        if (!client) return run_failure(client.error().what);
        const auto rows = client->table(asked.table);
        if (!rows) return run_failure(rows.error().what);
        const auto shown = rows_of_port(*rows, asked.port);
        const auto text = render_table(shown);
        fmt::print("{}", json_ ? render_json(shown) : text.empty() ? "none\n" : text);
        return {};
    }

    static Outcome send(const Instance& instance, const ProgramRequests& requests) {
        auto client = CommandClient::connect(instance);
        if (!client) return run_failure(client.error().what);
        for (const auto& request : requests) {
            const auto done = client->command(request);
            if (!done) return run_failure(fmt::format("{}: {}", instance.name, done.error().what));
            fmt::print("{}: {}\n", instance.name, *done);
        }
        return {};
    }

    std::vector<std::string> words_;
    ProgramOptions options_;
    std::string name_;
    bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_packet_program() {
    return std::make_unique<PacketProgram>();
}

}  // namespace verbline::cli
