// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/doctor/this_process.h"

#include <array>
#include <cerrno>

#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "apps/libibverbs/launch/launch.h"
#include "apps/libibverbs/launch/link_check.h"
#include "apps/libibverbs/launch/program_file.h"

namespace verbline::doctor {
namespace {

bool may_lock_any_memory() {
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> data{};
    if (syscall(SYS_capget, &header, data.data()) != 0) return false;
    return (data[CAP_TO_INDEX(CAP_IPC_LOCK)].effective & CAP_TO_MASK(CAP_IPC_LOCK)) != 0;
}

class Preflight {
public:
    void add(const char* subject, const Result<void>& good) {
        if (good) return;
        const bool permission = good.error().code == EPERM || good.error().code == EACCES;
        errors.push_back({.subject = subject, .what = good.error().what, .permission = permission});
    }
    /// An interface that is down, or of another kind, is a finding of the port's own. The first error says it for all.
    void add_interface(const std::string& name) {
        const auto good = verbs::check_local_link(pmd::EthernetSpec{.interface = name}, {});
        if (good || interface_failed || good.error().code == ENETDOWN) return;
        interface_failed = true;
        add("run eth:", good);
    }

    std::vector<PreflightError> errors;

private:
    bool interface_failed = false;
};

}  // namespace

LockLimit lock_limit() {
    rlimit limit{};
    if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return {.exempt = true};
    LockLimit known{.exempt = may_lock_any_memory()};
    if (limit.rlim_cur != RLIM_INFINITY) known.bytes = limit.rlim_cur;
    return known;
}

std::vector<PreflightError> preflight(std::span<const Port> ports) {
    Preflight found;
    for (const auto& port : ports)
        for (const auto& interface : port.interfaces)
            if (interface.type == Interface::ethernet) found.add_interface(interface.name);
    found.add("run tap:", verbs::check_local_link(pmd::TapSpec{.interface = "verbline-doctor"}, {}));
    const auto library = verbs::find_library(verbs::own_program());
    found.add("run", library ? verbs::check_preload("/bin/sh", *library) : std::unexpected(library.error()));
    return std::move(found.errors);
}

}  // namespace verbline::doctor
