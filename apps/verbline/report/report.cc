// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/report/report.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "apps/verbline/command_line/version.h"
#include "apps/verbline/report/page.h"
#include "apps/verbline/report/read_file.h"

namespace verbline::cli {
namespace {

class Report final : public Command {
public:
    Manual manual() const override {
        return {
            .name = "report",
            .summary = "make a page of plots from what benchmarks wrote",
            .synopsis = "FILE... [--output PAGE] [--title TEXT]",
            .description =
                {"Writes one HTML page with plots of all FILEs, the numbers behind each plot, and what the files say "
                 "of "
                 "their machines. The page has everything inside: a browser shows it without a network, and is told to "
                 "load "
                 "nothing. It may be printed.",
                 "FILE is what `verbline bench packet --json`, `verbline bench rdma --json`, `verbline bench ipoib "
                 "--json`, "
                 "`bench/compare --json` or `bench/compare --history` wrote; its keys tell which. A plot is there if "
                 "there is data for it:",
                 "Throughput, rate and latency against frame or message size; rate against flows, lcores and queue "
                 "pairs; IPoIB beside Ethernet; "
                 "frames lost against offered rate (RFC 2544); spread over receive queues; latency by percentile, and "
                 "its "
                 "distribution; our figures beside a peer's, with the goal; the same over runs.",
                 "Files that differ in one parameter are points of one line against it, and what else lines differ in "
                 "is "
                 "their name. Several files with the same parameters are one point at their median, with a line from "
                 "the "
                 "least to the greatest.",
                 "The exit status is 2 if a FILE cannot be used, 1 if the page cannot be written or the program was "
                 "built "
                 "without the plotting library, D3 (node-d3 of Debian)."},
            .examples =
                {{"for size in 64 256 1024; do verbline bench packet dpdk:net_ring0 --size $size --json >$size.json; "
                  "done; verbline report 64.json 256.json 1024.json -o page.html",
                  "throughput and latency against frame size"},
                 {"verbline report rdma.json --title 'WRITE over memif' >page.html", "one file, to standard output"},
                 {"bench/compare --quick --json now.json --history runs.jsonl; verbline report now.json runs.jsonl "
                  "-o page.html",
                  "beside peers, and over runs"}},
            .see_also = {"verbline-bench-packet(1)", "verbline-bench-rdma(1)", "verbline-bench-ipoib(1)",
                         "verbline-doctor(1)"},
        };
    }

    void declare(CLI::App& app) override {
        app.set_help_flag("-h,--help", "print this help");
        app.add_option("FILE", files_, "results of benchmarks")->required();
        app.add_option("-o,--output", output_, "the page; without it, standard output, unless that is a terminal")
            ->type_name("PAGE");
        app.add_option("--title", title_, "the page's title")->type_name("TEXT");
    }

    Outcome run(const CommandContext& /*context*/) override {
        const auto assets = report::assets();
        if (assets.library.empty())
            return run_failure("report: this program was built without D3; install node-d3, and build it again");
        if (output_.empty() && isatty(STDOUT_FILENO) != 0)
            return usage_failure("report: a page is not for a terminal; name a file by -o, or redirect it");
        std::vector<report::Measurement> measurements;
        for (const auto& file : files_) {
            auto found = report::read_file(file);
            if (!found) return usage_failure("report: " + found.error().what);
            std::ranges::move(*found, std::back_inserter(measurements));
        }
        const auto page = report::make_page(measurements, title_, fmt::format("verbline {}", version));
        return write(report::to_html(page, assets));
    }

private:
    Outcome write(const std::string& html) const {
        auto* const file = output_.empty() ? stdout : std::fopen(output_.c_str(), "we");
        const bool written =
            file != nullptr && std::fwrite(html.data(), 1, html.size(), file) == html.size() && std::fflush(file) == 0;
        const auto* const reason = std::strerror(errno);
        if (file != nullptr && !output_.empty()) std::fclose(file);
        if (written) return {};
        return run_failure(
            fmt::format("report: {}: {}; name another file", output_.empty() ? "standard output" : output_, reason));
    }

    std::vector<std::string> files_;
    std::string output_;
    std::string title_ = "Verbline: measurements";
};

}  // namespace

std::unique_ptr<Command> make_report() {
    return std::make_unique<Report>();
}

}  // namespace verbline::cli
