// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/command_line/program_manual.h"

namespace verbline::cli {

Manual program_manual() {
    return {
        .name = "verbline",
        .summary = "RoCE and IPoIB at poll-mode speed, in user space",
        .synopsis = "[EAL-ARGUMENTS --] COMMAND [ARGUMENTS]",
        .description =
            {"RoCE and IPoIB at poll-mode speed, in user space: existing RDMA programs run (run), and an IPoIB gateway "
             "(gateway). No kernel module and no RDMA hardware is needed; the subnet manager is a real one.",
             "Arguments before `--` go to DPDK's environment layer (EAL) as in every DPDK program. Without any, the "
             "program runs without hugepages (with them, if enough are free) and without PCI devices, on the CPUs it "
             "may use."},
        .examples = {{"verbline run ib_send_bw",
                      "an RDMA program on a machine without RDMA; its client: `verbline run ib_send_bw "
                      "localhost`"},
                     {"verbline gateway config/gateway.toml", "route between the ports of a configuration file"},
                     {"verbline show gw all", "print all tables of the instance called gw"},
                     {"verbline -l 2-3 --socket-mem 512 -- gateway gateway.toml",
                      "the same with hugepages: the control loop on CPU 2, packets on CPU 3"},
                     {"verbline -l 2-5 -- gateway gateway.toml",
                      "packets on CPUs 3 to 5, each with its share of flows"}},
        .see_also = {},
    };
}

std::vector<Term> program_options() {
    return {{"-h, --help", "print this help"}, {"--version", "print the version"}};
}

}  // namespace verbline::cli
