// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/report/records.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace verbline::report {
namespace {

/// What one machine, and the files of it, said.
struct Machine {
    Json facts;
    std::vector<std::string> files;
    std::vector<Table> extra;
};

std::string scalar(const Json& value) {
    return value.is_string() ? value.get<std::string>() : value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// An array of flat objects on a line: "node 0, page_kb 2048; node 1, ...".
std::string one_line(const Json& value) {
    if (!value.is_array()) return scalar(value);
    std::vector<std::string> items;
    for (const auto& item : value) {
        std::vector<std::string> facts;
        if (item.is_object()) {
            for (const auto& [key, fact] : item.items()) facts.push_back(fmt::format("{} {}", key, scalar(fact)));
        } else {
            facts.push_back(scalar(item));
        }
        items.push_back(fmt::format("{}", fmt::join(facts, ", ")));
    }
    return items.empty() ? "none" : fmt::format("{}", fmt::join(items, "; "));
}

Table facts_table(std::string title, const Json& object, std::string_view left_out) {
    Table table{.title = std::move(title), .columns = {"fact", "value"}, .rows = {}};
    if (!object.is_object()) return table;
    for (const auto& [key, value] : object.items()) {
        if (key != left_out) table.rows.push_back({key, value.is_number() ? value : Json(one_line(value))});
    }
    return table;
}

/// The keys of the first object head the columns.
Table rows_table(std::string title, const Json& array) {
    Table table{.title = std::move(title), .columns = {}, .rows = {}};
    if (!array.is_array()) return table;
    for (const auto& object : array) {
        if (!object.is_object()) continue;
        for (const auto& [key, value] : object.items())
            if (std::ranges::find(table.columns, key) == table.columns.end()) table.columns.push_back(key);
    }
    for (const auto& object : array) {
        std::vector<Json> row;
        for (const auto& column : table.columns) {
            const auto found = object.is_object() ? object.find(column) : object.end();
            row.push_back(!object.is_object() || found == object.end() ? Json()
                          : found->is_number()                         ? *found
                                                                       : Json(one_line(*found)));
        }
        table.rows.push_back(std::move(row));
    }
    return table;
}

void add(std::vector<Machine>& machines, const Json& facts, const std::string& file, Table extra) {
    if (!facts.is_object() || facts.empty()) return;
    auto machine = std::ranges::find(machines, facts, &Machine::facts);
    if (machine == machines.end()) machine = machines.insert(machine, {.facts = facts, .files = {}, .extra = {}});
    if (std::ranges::find(machine->files, file) == machine->files.end()) machine->files.push_back(file);
    if (!extra.rows.empty()) machine->extra.push_back(std::move(extra));
}

struct Collect {
    std::vector<Machine>& machines;

    void operator()(const PacketRun& run) const { add_with_ports(run); }
    void operator()(const IpoibRun& run) const { add_with_ports(run); }
    void operator()(const RdmaRun& run) const {
        add(machines, run.machine, run.file, facts_table("Test of " + run.file, run.information, ""));
    }
    void operator()(const Comparison&) const {}  // has no machine
    void operator()(const History& history) const {
        for (const auto& run : history.runs) add(machines, run.machine, history.file, {});
    }

private:
    void add_with_ports(const auto& run) const {
        add(machines, run.machine, run.file, rows_table("Ports of " + run.file, run.ports));
    }
};

std::string name_of(const Json& facts) {
    const auto cpu = facts.find("cpu"), cpus = facts.find("cpus");
    if (cpu == facts.end() || !cpu->is_string()) return "Machine";
    return cpu->get<std::string>() + (cpus == facts.end() || !cpus->is_number() ? "" : ", CPUs: " + cpus->dump());
}

Record record(const Machine& machine) {
    Record made{.title = name_of(machine.facts), .tables = {}};
    auto facts = facts_table("Facts", machine.facts, "doctor");
    facts.rows.insert(facts.rows.begin(), {"files", fmt::format("{}", fmt::join(machine.files, ", "))});
    made.tables.push_back(std::move(facts));
    if (const auto doctor = machine.facts.find("doctor"); doctor != machine.facts.end()) {
        auto findings = rows_table("Findings of verbline doctor", *doctor);
        if (!findings.rows.empty()) made.tables.push_back(std::move(findings));
    }
    made.tables.insert(made.tables.end(), machine.extra.begin(), machine.extra.end());
    return made;
}

}  // namespace

std::vector<Record> records(const std::vector<Measurement>& measurements) {
    std::vector<Machine> machines;
    for (const auto& measurement : measurements) std::visit(Collect{machines}, measurement);
    std::vector<Record> all;
    for (const auto& machine : machines) all.push_back(record(machine));
    return all;
}

}  // namespace verbline::report
