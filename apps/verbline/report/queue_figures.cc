// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include <fmt/format.h>

#include "apps/verbline/report/fields.h"
#include "apps/verbline/report/figures.h"
#include "apps/verbline/report/packet_parameters.h"

namespace verbline::report {
namespace {

std::string queue_name(const QueueShare& share, bool several_ports) {
    return several_ports ? fmt::format("{}.{}", share.port, share.queue) : fmt::format("{}", share.queue);
}

Panel panel(const PacketRun& run) {
    const bool several_ports = run.shares.front().port != run.shares.back().port;
    Panel made{.title = fmt::format("{}: {}, {} flow{}", run.file, run.role, run.flows, run.flows == 1 ? "" : "s"),
               .shape = Shape::bars,
               .x = {.title = several_ports ? "port.queue" : "receive queue", .scale = Scale::category},
               .y = {.title = "share of frames (%)"},
               .series = {{.name = "share", .points = {}}},
               .marks = {{.name = "even", .value = 100 / static_cast<double>(run.shares.size())}}};
    for (const auto& share : run.shares) {
        made.series.front().points.push_back({.x = static_cast<double>(made.x.categories.size()), .y = share.percent});
        made.x.categories.push_back(queue_name(share, several_ports));
    }
    return made;
}

}  // namespace

std::vector<Figure> queue_figures(const std::vector<PacketRun>& runs) {
    Figure figure{.id = "spread-over-queues",
                  .title = "Spread over receive queues",
                  .note =
                      "The share of the received frames that each queue had. The line is an even share; flows go to "
                      "queues by a hash, so few flows spread unevenly by chance.",
                  .panels = {},
                  .table = {.title = "Frames of each receive queue",
                            .columns = {"file", "port", "queue", "lcore", "frames", "share (%)"},
                            .rows = {}}};
    for (const auto& run : runs) {
        if (run.shares.empty()) continue;
        figure.panels.push_back(panel(run));
        for (const auto& share : run.shares)
            figure.table.rows.push_back({run.file, cell(share.port), cell(share.queue), cell(share.lcore),
                                         cell(share.packets), cell(share.percent)});
    }
    if (figure.panels.empty()) return {};
    return {std::move(figure)};
}

}  // namespace verbline::report
