// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/show/show.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/verbline/instance/answering.h"
#include "apps/verbline/instance/instance.h"
#include "apps/verbline/instance/rows_of_all.h"
#include "apps/verbline/instance/tables.h"
#include "apps/verbline/instance/telemetry_client.h"
#include "apps/verbline/output/counter_view.h"
#include "apps/verbline/output/shard_view.h"
#include "apps/verbline/output/table.h"

namespace verbline::cli {
namespace {

/// CLI11's own messages print six decimals.
std::string seconds(const std::string& text) {
    const double value = std::strtod(text.c_str(), nullptr);
    return value >= 0.1 && value <= 86'400 ? "" : text + " is no time from 0.1 to 86400 seconds";
}

Time monotonic_now() {
    return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Every program has few rows of these: without a name, all programs' are printed.
constexpr std::array<std::string_view, 2> of_programs{"cm", "path_cache"};

Failure failed(const Error& error) {
    const int status = error.code == EINVAL ? Failure::usage : Failure::run_time;
    return {status, "verbline: " + error.what};
}

class Show final : public Command {
public:
    Manual manual() const override {
        return {
            .name = "show",
            .summary = "print what a running gateway, host, hub or program sees",
            .synopsis = "[NAME] [TABLE...|all] [--all] [--watch SECONDS] [--json]",
            .description =
                {"Asks a running instance over its DPDK telemetry socket and prints tables. NAME may be left out while "
                 "only one instance runs; cm and path_cache are then those of all. With no TABLE, prints all of them; "
                 "with no NAME either, lists the instances that run.",
                 "Tables: ports (state, GID, LID, P_Key, VLAN, the port whose device it shares, MTU, addresses), "
                 "neighbours, connections (of IPoIB's connected mode), paths (the path cache with its hits and "
                 "misses), "
                 "path_cache (how much it saves), "
                 "multicast (groups with reference counts), routes, programs (of packets; `verbline program`), "
                 "queues, shards (what each polling lcore does, and hands to others), hub (who has which lane, and "
                 "what it carries; in the last row, without a process, what lanes carried that are gone), xrc (XRC "
                 "target queue pairs that programs of a node share), cm (connections of programs under `verbline run`: "
                 "state, peers, retries, age), counters (every counter of every component; each discarded packet is "
                 "counted under its reason).",
                 "A node on a soft fabric has paths, path_cache and multicast as a gateway does: those of all its "
                 "programs.",
                 "In the table of shards, BUSY PCT is the part of its time in which a shard found something to do; the "
                 "rest it polled in vain or slept. PACKETS PER BURST and CYCLES PER PACKET (of the busy time) are of "
                 "what it received. SHARE PCT is its part of all shards' packets, and SPREAD that times the number of "
                 "shards: 1 is even. Few flows are never even: of N on Q shards, each gets N/Q, give or take about the "
                 "root of that. All are since the start, or with --watch since the table before; the cycles and polls "
                 "they are made of, and what shards hand to each other, are printed by --all and --json. A packet of "
                 "a tap may be 64 KB long. Drops, commands that wait and events that are lost are shown if there are "
                 "any. WARNING says that a shard stands still, or names ports of another NUMA socket."},
            .examples = {{"verbline show", "list the instances that run"},
                         {"verbline show gw ports neighbours", "print two tables of the instance called gw"},
                         {"verbline show counters --watch 1", "print counters and their rates every second"},
                         {"verbline show shards --watch 1", "print every second how busy each core is"},
                         {"verbline show cm", "list the connections of all programs"},
                         {"verbline show gw multicast --json | jq '.[].mgid'", "the same as JSON, for programs"}},
            .see_also = {"dpdk-telemetry(1)"},
        };
    }

    void declare(CLI::App& app) override {
        app.set_help_flag("-h,--help", "print this help");
        app.add_option("NAME", name_, "the instance, as its configuration calls it");
        app.add_option("TABLE", words_, table_names() + ", or all");
        app.add_flag("--all", zeros_, "print counters that are zero as well, and all that shards count");
        app.add_option("--watch", interval_, "print again every SECONDS, counters with their rates")
            ->type_name("SECONDS")
            ->check(CLI::Validator(seconds, "", ""));
        app.add_flag("--json", json_, "print JSON: an array of objects per table");
    }

    Outcome run(const CommandContext& /*context*/) override {
        if (name_.empty()) return list_instances();
        words_.insert(words_.begin(), name_);  // what is taken for a name may be the first table
        const bool named = !is_table(words_[0]) && words_[0] != "all";
        const auto wanted = wanted_tables(named ? 1 : 0);
        if (!wanted) return std::unexpected(wanted.error());
        if (!named &&
            std::ranges::any_of(of_programs, [&](auto table) { return *wanted == std::vector{std::string(table)}; })) {
            return print_everywhere(wanted->front());
        }
        auto instance = find_instance(named ? words_[0] : "");
        if (!instance && !named) instance = only_one_with(*wanted, instance);
        if (!instance) return std::unexpected(failed(instance.error()));

        auto client = TelemetryClient::connect(instance->socket, instance->trust);
        if (!client) return std::unexpected(failed(client.error()));
        if (auto outcome = choose_tables(*client, instance->name, *wanted); !outcome) return outcome;
        return again_and_again([&] { return read(*client); });
    }

private:
    Outcome list_instances() const {
        Json rows = Json::array();
        for (const auto& instance : running_instances())
            rows.push_back({{"name", instance.name}, {"pid", instance.pid}, {"socket", instance.socket.string()}});
        if (json_) {
            fmt::print("{}", render_json(rows));
            return {};
        }
        if (rows.empty()) return std::unexpected(failed(find_instance("").error()));
        fmt::print("{}", render_table(rows));
        return {};
    }

    /// The tables that the words from `first` on name; none: all tables.
    std::expected<std::vector<std::string>, Failure> wanted_tables(std::size_t first) const {
        std::vector<std::string> wanted;
        for (std::size_t i = first; i < words_.size(); ++i) {
            if (words_[i] == "all") return std::vector<std::string>();
            if (!is_table(words_[i]))
                return usage_failure(fmt::format("{} is no table; there are {} and all", words_[i], table_names()));
            wanted.push_back(words_[i]);
        }
        return wanted;
    }

    /// If several instances run, the requested table may identify one.
    static Result<Instance> only_one_with(const std::vector<std::string>& wanted, const Result<Instance>& otherwise) {
        std::vector<Instance> found;
        for (const auto& each : answering_instances()) {
            const auto serves = [&](const std::string& table) { return each.serves(table); };
            if (!wanted.empty() && std::ranges::all_of(wanted, serves)) found.push_back(each.instance);
        }
        return found.size() == 1 ? found.front() : otherwise;
    }

    Outcome choose_tables(TelemetryClient& client, const std::string& name, const std::vector<std::string>& wanted) {
        const auto served = client.tables();
        if (!served) return std::unexpected(failed(served.error()));
        const auto has = [&](std::string_view table) { return std::ranges::find(*served, table) != served->end(); };
        if (const auto missing = std::ranges::find_if_not(wanted, has); missing != wanted.end())
            return usage_failure(
                fmt::format("{} has no table {}; it has {}", name, *missing, fmt::join(*served, ", ")));
        tables_ = wanted;
        for (const auto table : tables) {
            if (wanted.empty() && has(table)) tables_.emplace_back(table);
        }
        return {};
    }

    /// Prints what `read` gives, once or as long as it is watched.
    template <class Read>
    Outcome again_and_again(Read&& read) {
        for (;;) {
            const Result<Json> all = read();
            if (!all) return std::unexpected(failed(all.error()));
            if (json_) {
                print_json(*all);
            } else {
                print_text(*all);
            }
            std::fflush(stdout);
            if (interval_ == 0) return {};
            std::this_thread::sleep_for(std::chrono::duration<double>(interval_));
        }
    }

    Result<Json> read(TelemetryClient& client) {
        Json all = Json::object();
        for (const auto& name : tables_) {
            auto rows = client.table(name);
            if (!rows) return rows;
            if (name == "counters" && interval_ != 0) rows = rates_.read(*rows, monotonic_now());
            if (name == "shards") rows = shards_.read(*rows);
            all[name] = std::move(*rows);
        }
        return all;
    }

    Outcome print_everywhere(const std::string& table) {
        return again_and_again([&]() -> Result<Json> { return Json{{table, rows_of_all(table)}}; });
    }

    void print_json(const Json& all) const {
        const Json& value = all.size() == 1 ? all.begin().value() : all;
        // One document per line while watching, so that a reader knows where each ends.
        fmt::print("{}", interval_ != 0 ? value.dump() + "\n" : render_json(value));
    }

    void print_text(const Json& all) {
        if (interval_ != 0 && isatty(STDOUT_FILENO)) fmt::print("\033[H\033[J");
        bool first = true;
        for (const auto& [name, rows] : all.items()) {
            if (all.size() > 1) fmt::print("{}{}:\n", first ? "" : "\n", name);
            first = false;
            fmt::print("{}", text(name, rows));
        }
        if (interval_ != 0) fmt::print("\n");
    }

    /// The rows to print: without --all, no counters that are zero and shards in brief.
    Json shown(const std::string& name, const Json& rows) const {
        if (name == "counters" && !zeros_) return without_zeros(rows);
        if (name == "shards" && !zeros_) return in_brief(rows);
        return rows;
    }

    std::string text(const std::string& name, const Json& rows) const {
        if (rows.is_object()) return render_object(rows);
        const auto out = render_table(shown(name, rows));
        return out.empty() ? "none\n" : out;
    }

    std::string name_;
    std::vector<std::string> words_;
    bool zeros_ = false;
    bool json_ = false;
    double interval_ = 0;  ///< seconds; 0: once
    std::vector<std::string> tables_;
    Rates rates_;
    ShardView shards_;
};

}  // namespace

std::unique_ptr<Command> make_show() {
    return std::make_unique<Show>();
}

}  // namespace verbline::cli
