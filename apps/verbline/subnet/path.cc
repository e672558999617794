// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/subnet/path.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "apps/verbline/instance/rows_of_all.h"
#include "apps/verbline/output/record_view.h"
#include "apps/verbline/subnet/path_endpoint.h"
#include "apps/verbline/subnet/subnet_session.h"
#include "datapath/wire/text.h"

namespace verbline::cli {
namespace {

class Path final : public Command {
public:
    Manual manual() const override {
        return {
            .name = "path",
            .summary = "query the subnet administrator for the path between two ports",
            .synopsis = "--sm SM A B [--pkey P] [--json]\n--stats [--json]",
            .description = {"Prints the PathRecord from port A to port B as the subnet administrator answers it now, "
                            "past any cache. A and B are a LID (4, 0x4), a GID (fe80::2:c903:0:1) or a port GUID "
                            "(0x0002c90300000001).",
                            "SM is where the subnet manager is reached: ibsim:FABRIC,host=NODE for a simulated fabric, "
                            "umad:DEVICE,port=N for an adapter.",
                            "--stats prints what the local path caches of running gateways and programs have saved: "
                            "lookups, those that found a path or joined a query under way, and the queries sent to "
                            "the subnet administrator."},
            .examples = {{"verbline path --sm ibsim:vl,host=H2 3 4", "the path from LID 3 to LID 4"},
                         {"verbline path --sm umad:mlx5_0,port=1 3 0x0002c90300000001 --json", "the same as JSON"},
                         {"verbline path --stats", "how well the local path caches do"}},
            .see_also = {"verbline-mcast(1)"},
        };
    }

    void declare(CLI::App& app) override {
        app.set_help_flag("-h,--help", "print this help");
        app.add_option("--sm", sm_, "where the subnet manager is reached")->type_name("SM");
        app.add_option("A", a_, "the port the path begins at: LID, GID or port GUID");
        app.add_option("B", b_, "the port it leads to");
        app.add_flag("--stats", stats_, "print the hit rates of local path caches instead");
        app.add_option("--pkey", pkey_, "the partition; without it, 0xffff")->type_name("P");
        app.add_flag("--json", json_, "print JSON");
    }

    Outcome run(const CommandContext& /*context*/) override {
        if (stats_) return print_stats();
        if (sm_.empty() || b_.empty()) return usage_failure("path: needs --sm and two ports, or --stats");
        const auto pkey = wire::from_string<wire::PKey>(pkey_);
        if (!pkey) return usage_failure(fmt::format("path: {} is no P_Key such as 0x8001", pkey_));
        auto session = SubnetSession::open(sm_);
        if (!session) return std::unexpected(session.error());
        const auto a = parse_endpoint(a_, session->port().subnet_prefix);
        if (!a) return usage_failure("path: " + a.error().what);
        const auto b = parse_endpoint(b_, session->port().subnet_prefix);
        if (!b) return usage_failure("path: " + b.error().what);

        sa::Client client(session->transport(), session->loop());
        const auto [query, components] = path_query(*a, *b, *pkey);
        const auto path = await<wire::PathRecord>(*session, [&](sa::ReplyHandler<wire::PathRecord> reply) {
            client.path(query, components, std::move(reply));
        });
        if (!path) return run_failure(fmt::format("path from {} to {}: {}", a_, b_, sa::describe(path.error())));
        const auto row = path_row(*path);
        fmt::print("{}", json_ ? render_json(row) : render_object(row));
        return {};
    }

private:
    Outcome print_stats() const {
        const auto rows = rows_of_all("path_cache");
        if (rows.empty() && !json_) return run_failure("no gateway or program with a path cache is running");
        fmt::print("{}", json_ ? render_json(rows) : render_table(rows));
        return {};
    }

    std::string sm_, a_, b_, pkey_ = "0xffff";
    bool json_ = false, stats_ = false;
};

}  // namespace

std::unique_ptr<Command> make_path() {
    return std::make_unique<Path>();
}

}  // namespace verbline::cli
