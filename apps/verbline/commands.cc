// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/ipoib/ipoib.h"
#include "apps/verbline/bench/packet.h"
#include "apps/verbline/bench/rdma/rdma.h"
#include "apps/verbline/command_line/help_command.h"
#include "apps/verbline/doctor/doctor.h"
#include "apps/verbline/gateway/gateway.h"
#include "apps/verbline/gateway/host.h"
#include "apps/verbline/hub/hub.h"
#include "apps/verbline/hub/node.h"
#include "apps/verbline/metrics/metrics.h"
#include "apps/verbline/packet_program/packet_program.h"
#include "apps/verbline/program/devinfo.h"
#include "apps/verbline/program/run.h"
#include "apps/verbline/report/report.h"
#include "apps/verbline/show/show.h"
#include "apps/verbline/subnet/mcast.h"
#include "apps/verbline/subnet/path.h"
#include "apps/verbline/trace/trace.h"

namespace verbline::cli {

// A new one: a file of its own, a line here, two in meson.build (the file, the manual page); apps/EXTENDING.md.
std::vector<std::unique_ptr<Command>> all_commands() {
    std::vector<std::unique_ptr<Command>> all;
    all.push_back(make_gateway());
    all.push_back(make_host());
    all.push_back(make_hub());
    all.push_back(make_node());
    all.push_back(make_show());
    all.push_back(make_packet_program());
    all.push_back(make_metrics());
    all.push_back(make_trace());
    all.push_back(make_path());
    all.push_back(make_mcast());
    all.push_back(make_run());
    all.push_back(make_devinfo());
    all.push_back(make_doctor());
    all.push_back(make_bench_packet());
    all.push_back(make_bench_rdma());
    all.push_back(make_bench_ipoib());
    all.push_back(make_report());
    all.push_back(make_help());
    return all;
}

}  // namespace verbline::cli
