// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/program/run.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "apps/libibverbs/launch/launch.h"
#include "apps/libibverbs/launch/preflight.h"
#include "apps/libibverbs/launch/preload_path.h"
#include "apps/libibverbs/launch/program_file.h"
#include "apps/verbline/program/verbs_options.h"

namespace verbline::cli {
namespace {

/// Becomes the program; returns only with an error.
Error execute(const std::filesystem::path& program, std::span<const std::string> words) {
    std::vector<char*> arguments;
    for (const auto& word : words) arguments.push_back(const_cast<char*>(word.c_str()));  // execvp(3) changes nothing
    arguments.push_back(nullptr);
    std::fflush(nullptr);
    execvp(program.c_str(), arguments.data());
    return {errno, fmt::format("cannot execute {}: {}", program.string(), std::strerror(errno))};
}

class Run final : public Command {
public:
    Manual manual() const override {
        return {
            .name = "run",
            .summary = "run an RDMA program on links that need no RDMA hardware",
            .synopsis =
                "[--link LINK]... [--ip CIDR]... [--mtu N] [--ns auto|none] [--impair SPEC] [--capture FILE] "
                "[--no-direct] [-v] [--] CMD [ARGS]",
            .description =
                {"Starts CMD with the libibverbs.so.1 of Verbline in place of the distribution's. The program and what "
                 "it starts see a device verbline0 for each Ethernet link, verbline_ib0 for each soft InfiniBand link, "
                 "and reach whoever is on the other end: other programs under verbline run, RoCE v2 adapters, the "
                 "kernel's soft-RoCE.",
                 "LINK is hub:NAME, a lane of verbline hub NAME; node:NAME, the port of verbline node NAME, which all "
                 "its "
                 "programs share; memif:SOCKET[,server][,owner=UID], shared memory with "
                 "one other process of root, this user or the user named, by a socket in the run-time directory if "
                 "SOCKET has no slash; eth:IFNAME, an interface of the kernel, with its addresses, or with --ip beside "
                 "them; tap:IFNAME, a new interface of the kernel whose other end is the device; ib:HOST@FABRIC, a "
                 "port of an ibsim fabric with a subnet manager, joined by a hub of the fabric's name, whose IPoIB "
                 "addresses may be in other partitions, --ip 10.8.0.2/24%0x8001; "
                 "dpdk:ADDRESS, a NIC on the PCI bus that is bound to vfio-pci and has an i40e, iavf, ice, ixgbe, ena, "
                 "gve, virtio or vmxnet3 driver; dpdk:net_virtio_user0,path=SOCKET, a vhost port of a software switch; "
                 "dpdk:net_af_packet0,iface=IFNAME, an interface by DPDK's own driver, without the kernel's addresses. "
                 "Other DPDK ports (mlx5, AF_XDP) are for a hub, verbline hub NAME --uplink dpdk:DEVARGS, or a node. "
                 "Without "
                 "--link it is hub:default. That hub and a fabric's are started if they do not run.",
                 "What can be checked is checked before the program starts. If something is missing, one line names "
                 "it, "
                 "the exit status is 1, and the program is not started. From then on it is the program's own: no "
                 "process stays in between.",
                 "Two programs of the same user on one hub exchange their packets by shared memory of their own once "
                 "they have begun to talk to each other, which the hub neither counts nor captures. With --no-direct "
                 "all packets go through the hub.",
                 "With --ns auto the program has entries for the devices in /sys/class/infiniband and /dev/infiniband, "
                 "in a mount namespace of its own; UCX and Open MPI look for them. That needs root, or a kernel that "
                 "gives users namespaces of their own, in which setuid programs do not work. Where it cannot be had "
                 "the program runs without; -v prints why.",
                 "Options left out are taken from VERBLINE_LINK, VERBLINE_IP, VERBLINE_MTU, VERBLINE_IMPAIR, "
                 "VERBLINE_CAPTURE and VERBLINE_DIRECT (no: --no-direct) in the environment.",
                 "A verb that fails gives the program no more than an errno value. With VERBLINE_HINTS=1 in the "
                 "environment, the reason is a line on standard error as well, each reason once."},
            .examples = {{"verbline run ib_send_bw", "a server on the default hub"},
                         {"verbline run ib_send_bw localhost", "its client, in another terminal"},
                         {"verbline run --link eth:eth1 -- ibv_rc_pingpong -g 3", "RoCE v2 on an Ethernet interface"},
                         {"verbline run --link ib:H2@vl ibv_devinfo -v", "a port of the soft fabric vl"}},
            .see_also = {"verbline-devinfo(1)", "verbline-hub(1)", "ld.so(8)"},
        };
    }

    void declare(CLI::App& app) override {
        app.set_help_flag("-h,--help", "print this help");
        app.prefix_command();
        app_ = &app;
        options_.declare(app);
        app.add_option("--ns", namespace_, "entries in /sys and /dev: auto, or none")->type_name("auto|none");
        app.add_flag("-v,--verbose", verbose_, "print why there are no entries in /sys and /dev");
    }

    Outcome run(const CommandContext& /*context*/) override {
        auto words = app_->remaining();
        if (!words.empty() && words.front() == "--")
            words.erase(words.begin());
        else if (!words.empty() && words.front().starts_with('-'))
            return usage_failure(fmt::format("run: {} is no option of it; see verbline run --help", words.front()));
        if (words.empty()) return usage_failure("run: no program given; see verbline run --help");
        if (namespace_ != "auto" && namespace_ != "none")
            return usage_failure(fmt::format("run: --ns is auto or none, not {}", namespace_));
        auto settings = options_.settings();
        if (!settings) return failed(settings.error());
        const auto program = verbs::find_program(words.front(), verbs::process_environment("PATH").value_or(""));
        if (!program) return failed(program.error());
        auto library = verbs::find_library(verbs::own_program());
        if (library) library = verbs::preload_path(*library);
        if (!library) return failed(library.error());
        *settings = verbs::with_absolute_paths(*settings);
        const auto good = verbs::preflight(
            *settings, {.program = *program, .library = *library, .hub_program = verbs::own_program()});
        if (!good) return failed(good.error());
        if (namespace_ == "auto")
            if (const auto made = verbs::make_entries(*settings); !made && verbose_)
                fmt::print(stderr, "verbline: run: no entries in /sys and /dev: {}\n", made.error().what);
        verbs::set_environment(*settings, *library);
        return failed(execute(*program, words));
    }

private:
    /// Wrong words are no usage failure here: status 2 would be the program's own to give.
    static Outcome failed(const Error& error) { return run_failure("run: " + error.what); }

    CLI::App* app_ = nullptr;
    VerbsOptions options_;
    std::string namespace_ = "auto";
    bool verbose_ = false;
};

}  // namespace

std::unique_ptr<Command> make_run() {
    return std::make_unique<Run>();
}

}  // namespace verbline::cli
