// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/doctor/doctor.h"

#include <filesystem>
#include <system_error>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "apps/verbline/doctor/checks.h"
#include "apps/verbline/doctor/fact_reader.h"
#include "apps/verbline/doctor/report.h"
#include "apps/verbline/doctor/this_process.h"
#include "apps/verbline/output/table.h"

namespace verbline::cli {
namespace {

class Doctor final : public Command {
public:
    Manual manual() const override {
        return {
            .name = "doctor",
            .summary = "say what spoils a measurement on this machine or stops a start, and how to mend it",
            .synopsis = "[PORT...] [--json] [--root DIRECTORY]",
            .description =
                {"Looks at the settings of CPUs, memory, kernel, PCI and network adapters, and prints a line for each "
                 "finding: its severity, what it is about, what was found; below it the command that mends it, or "
                 "that shows more where no command can. Nothing is changed. The commands are for root's shell; those "
                 "that add to the kernel's command line hold from the next start on.",
                 "PORT is a PCI address (0000:3b:00.0, 3b:00.0), a network interface or an RDMA device. Without it, "
                 "all adapters for Ethernet and InfiniBand on PCI are looked at; that one of them has no link is a "
                 "warning "
                 "only if it is named.",
                 "An error stops a start: a port that DPDK cannot open. A warning costs packets or time, or makes a "
                 "measurement differ from one run to the next. A note is worth knowing. What is ok comes last.",
                 "What cannot be read gives no finding: in virtual machines there is much less to see, and ordinary "
                 "users do not see the read requests of PCI devices. devlink and ethtool are asked for RoCE and flow "
                 "control where they are installed.",
                 "With --root, the tree in DIRECTORY is read in place of /sys and /proc of this machine, such as one "
                 "recorded from another; programs are not asked then, nor what this process may do.",
                 "The exit status is 0 if nothing is worse than a note, 1 if there is a warning or an error, 2 if "
                 "the arguments are wrong."},
            .examples = {{"verbline doctor", "everything"},
                         {"verbline doctor eth1 3b:00.1", "the machine, and these two ports"},
                         {"verbline doctor --json | jq -r '.[] | select(.severity == \"error\").command'",
                          "what to type against errors"}},
            .see_also = {"verbline-run(1)", "devlink-dev(8)", "ethtool(8)", "setpci(8)"},
        };
    }

    void declare(CLI::App& app) override {
        app.set_help_flag("-h,--help", "print this help");
        app.add_option("PORT", ports_, "PCI addresses, network interfaces or RDMA devices; without them, all");
        app.add_flag("--json", json_, "print JSON: an array of objects");
        app.add_option("--root", root_, "read the tree in DIRECTORY, not this machine's")->type_name("DIRECTORY");
    }

    Outcome run(const CommandContext& /*context*/) override {
        std::error_code problem;
        if (!std::filesystem::is_directory(root_, problem))
            return usage_failure(fmt::format("doctor: --root: there is no directory {}", root_));
        const bool here = std::filesystem::equivalent(root_, "/", problem);
        doctor::InstalledPrograms installed;
        doctor::NoPrograms none;
        doctor::FactReader reader(doctor::RootDirectory(root_),
                                  here ? static_cast<doctor::Programs&>(installed) : none);
        auto facts = reader.read(ports_);
        if (!facts) return usage_failure("doctor: " + facts.error().what);
        if (here) {
            facts->lock_limit = doctor::lock_limit();
            facts->preflight = doctor::preflight(facts->ports);
        }
        const auto findings = doctor::diagnose(*facts);
        fmt::print("{}", json_ ? render_json(doctor::rows(findings)) : doctor::render_text(findings));
        const auto complaint = doctor::complaint(findings);
        return complaint.empty() ? Outcome() : run_failure("doctor: " + complaint);
    }

private:
    std::vector<std::string> ports_;
    std::string root_ = "/";
    bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_doctor() {
    return std::make_unique<Doctor>();
}

}  // namespace verbline::cli
