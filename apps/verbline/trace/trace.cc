// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/trace/trace.h"

#include <cstdio>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/verbline/instance/instance.h"
#include "apps/verbline/output/table.h"
#include "apps/verbline/trace/trace_view.h"
#include "pmd/trace/trace_file.h"

namespace verbline::cli {
namespace {

class TraceCommand final : public Command {
public:
    Manual manual() const override {
        return {
            .name = "trace",
            .summary = "print what the shards of an instance did last, even after a fault",
            .synopsis = "[NAME] [--last N] [--old] [--json]\n--events [--json]",
            .description =
                {"Each shard of a gateway, host, hub or node keeps its last 65,535 events in a file: bursts of "
                 "packets, "
                 "messages from and to the control thread, frames that were dropped because a port was full, begin "
                 "and end of a rest. The file is removed when the instance ends as it should; one that was killed, or "
                 "crashed, leaves it behind.",
                 "Prints the last events of all shards of the instance NAME, in the order in which they happened. NAME "
                 "may be left out while there are traces of only one. After the next start of the instance, --old "
                 "prints those of the one before, if that one left any.",
                 "TIME is UTC, US LATER the microseconds since the row before, VALUE a number of what OF says. "
                 "--events prints what each event means. In a hub, ports are numbered in the order in which they "
                 "came."},
            .examples = {{"verbline trace", "the last 100 events of the only instance"},
                         {"verbline trace gw --old --last 0", "everything that was kept of the one that was killed"},
                         {"verbline trace gw --json | jq '.[] | select(.event == \"dropped_full\")'",
                          "drops alone, as JSON"}},
            .see_also = {"verbline-show(1)"},
        };
    }

    void declare(CLI::App& app) override {
        app.set_help_flag("-h,--help", "print this help");
        app.add_option("NAME", name_, "the instance, as its configuration calls it");
        app.add_option("--last", last_, "how many events; 0: all; without it, 100")->type_name("N");
        app.add_flag("--old", old_, "of the instance's process before, if that one was killed");
        app.add_flag("--events", events_, "print what each event means");
        app.add_flag("--json", json_, "print JSON: an array of events");
    }

    Outcome run(const CommandContext& /*context*/) override {
        if (events_) {
            print(trace_event_rows());
            return {};
        }
        const auto place = find_traces(name_, old_);
        if (!place)
            return std::unexpected(Failure{place.error().code == EINVAL ? Failure::usage : Failure::run_time,
                                           "verbline: " + place.error().what});
        std::vector<pmd::TraceRecord> records;
        for (const auto& file : pmd::trace_files(place->directory, old_)) {
            auto record = read_trusted(file, place->trust);
            if (!record) return run_failure(record.error().what);
            records.push_back(std::move(*record));
        }
        if (!json_)
            for (const auto& record : records) fmt::print("{}\n", trace_summary(record));
        print(trace_rows(records, last_));
        return {};
    }

private:
    static Result<pmd::TraceRecord> read_trusted(const std::filesystem::path& file, const pmd::Trust& trust) {
        if (auto good = pmd::check_path(file, "it may be another user's", trust); !good)
            return std::unexpected(good.error());
        return pmd::read_trace(file);
    }

    /// Where the traces of the instance are, or of the only one if `name` is empty.
    static Result<InstancePlace> find_traces(const std::string& name, bool old) {
        std::vector<InstancePlace> found;
        std::vector<std::string> names;
        for (auto& place : instance_places()) {
            if (pmd::trace_files(place.directory, old).empty()) continue;
            names.push_back(place.name);
            found.push_back(std::move(place));
        }
        const auto* const which = old ? "older traces" : "traces";
        if (found.empty()) return failure(ENOENT, fmt::format("there are no {}: {}", which, advice(old)));
        if (name.empty() && found.size() == 1) return found.front();
        if (name.empty())
            return failure(EINVAL,
                           fmt::format("there are {} of several; name one of {}", which, fmt::join(names, ", ")));
        for (auto& place : found)
            if (place.name == name) return place;
        return failure(ENOENT, fmt::format("there are no {} of {}; of {}", which, name, fmt::join(names, ", ")));
    }

    static std::string_view advice(bool old) {
        return old ? "none that was killed has been started again"
                   : "no instance runs, and none was killed; start a gateway with `verbline gateway CONFIG.toml`";
    }

    void print(const Json& rows) const { fmt::print("{}", json_ ? render_json(rows) : render_table(rows)); }

    std::string name_;
    std::size_t last_ = 100;
    bool old_ = false, events_ = false, json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_trace() {
    return std::make_unique<TraceCommand>();
}

}  // namespace verbline::cli
