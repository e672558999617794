// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/instance/eal.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string_view>

#include <fcntl.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_log.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/verbline/instance/instance.h"
#include "pmd/base/free_descriptors.h"

namespace verbline::cli {
namespace {

bool has_option(const std::vector<std::string>& arguments, std::string_view option) {
    return std::ranges::any_of(arguments, [=](std::string_view a) {
        return a == option || (a.starts_with(option) && a.substr(option.size()).starts_with('='));
    });
}

/// DPDK writes its log to a stream of ours while it starts: on failure the last line of it is the reason.
class StartupLog {
public:
    StartupLog() : stream_(open_memstream(&text_, &size_)) {
        if (stream_ != nullptr) rte_openlog_stream(stream_);
    }
    StartupLog(const StartupLog&) = delete;
    StartupLog& operator=(const StartupLog&) = delete;
    ~StartupLog() {
        rte_openlog_stream(nullptr);
        if (stream_ != nullptr) std::fclose(stream_);
        std::free(text_);
    }

    std::string_view text() const {
        if (stream_ == nullptr) return "";
        std::fflush(stream_);
        return {text_, size_};
    }
    std::string_view last_line() const {
        auto lines = text();
        while (lines.ends_with('\n')) lines.remove_suffix(1);
        return lines.substr(lines.rfind('\n') + 1);
    }

private:
    char* text_ = nullptr;
    std::size_t size_ = 0;
    std::FILE* stream_;
};

std::string owner_of(const std::string& name) {
    for (const auto& instance : running_instances())
        if (instance.name == name) return fmt::format(" as process {}", instance.pid);
    return "";
}

/// The kernel drops this lock when the process ends, so that a killed instance never blocks the next.
Result<FileDescriptor> lock_name(const std::string& name) {
    if (auto made = make_instance_directory(name); !made) return std::unexpected(made.error());
    const auto path = instance_directory(name) / lock_file;
    FileDescriptor fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR));
    if (!fd)
        return failure(errno, fmt::format("{}: {}; run as root, or set XDG_RUNTIME_DIR to a directory of yours",
                                          path.string(), std::strerror(errno)));
    if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0)
        return failure(EBUSY, fmt::format("{0} is running already{1}; stop it, or give this one another name", name,
                                          owner_of(name)));
    return fd;
}

}  // namespace

Machine this_machine() {
    Machine machine;
    cpu_set_t cpus;
    if (sched_getaffinity(0, sizeof cpus, &cpus) == 0)
        for (unsigned cpu = 0; cpu < std::min<unsigned>(RTE_MAX_LCORE, CPU_SETSIZE); ++cpu)
            if (CPU_ISSET(cpu, &cpus)) machine.cpus.push_back(cpu);
    if (machine.cpus.empty()) machine.cpus.push_back(0);

    constexpr std::string_view size_prefix = "hugepages-";
    std::error_code error;
    for (std::filesystem::directory_iterator entry("/sys/kernel/mm/hugepages", error), end; !error && entry != end;
         entry.increment(error)) {
        const std::string name = entry->path().filename();  // hugepages-2048kB
        std::size_t count = 0;
        if (!name.starts_with(size_prefix) || !(std::ifstream(entry->path() / "free_hugepages") >> count)) continue;
        machine.free_hugepage_memory += count * 1024 * std::strtoull(name.c_str() + size_prefix.size(), nullptr, 10);
    }
    return machine;
}

std::vector<std::string> eal_arguments(const EalOptions& options, const Machine& machine) {
    std::vector<std::string> out{"verbline"};
    const auto add = [&](std::initializer_list<std::string> more) { out.insert(out.end(), more); };
    if (!options.arguments.empty()) {
        out.insert(out.end(), options.arguments.begin(), options.arguments.end());
        if (!has_option(options.arguments, "--file-prefix")) add({"--file-prefix", file_prefix(options.name)});
        return out;
    }
    add({"--file-prefix", file_prefix(options.name), "--main-lcore", "0"});
    add({"--lcores", fmt::format("(0-{})@({})", options.workers, fmt::join(machine.cpus, ","))});
    // Both leave no files that a killed process would leave behind. This EAL refuses --in-memory without hugepages.
    if (machine.free_hugepage_memory >= options.memory_mb << 20)
        add({"--in-memory"});
    else
        add({"--no-huge", "--no-shconf", "-m", fmt::to_string(options.memory_mb)});
    for (const auto& device : options.pci_devices) add({"-a", device});
    if (options.pci_devices.empty()) add({"--no-pci"});
    // Telemetry warns that its older protocol is not used.
    add({"--log-level", "warning", "--log-level", "lib.telemetry:error"});
    return out;
}

Result<Eal> Eal::start(const EalOptions& options) {
    auto lock = lock_name(options.name);
    if (!lock) return std::unexpected(lock.error());
    auto arguments = eal_arguments(options, this_machine());
    std::vector<char*> argv;
    argv.reserve(arguments.size());
    for (auto& argument : arguments) argv.push_back(argument.data());

    if (auto enough = check_free_descriptors(descriptors_to_start_dpdk(options.workers)); !enough)
        return std::unexpected(enough.error());
    setenv("RUNTIME_DIRECTORY", runtime_directory().parent_path().c_str(), 1);  // where DPDK makes its own
    const StartupLog log;
    if (rte_eal_init(static_cast<int>(argv.size()), argv.data()) < 0) {
        const auto reason = log.last_line();
        return failure(rte_errno, fmt::format("DPDK does not start: {}; EAL arguments before -- change how it starts",
                                              reason.empty() ? rte_strerror(rte_errno) : reason));
    }
    std::fwrite(log.text().data(), 1, log.text().size(), stderr);
    return Eal(std::move(*lock));
}

Result<std::vector<unsigned>> Eal::packet_lcores() const {
    std::vector<unsigned> lcores;
    unsigned lcore = 0;
    RTE_LCORE_FOREACH_WORKER(lcore) lcores.push_back(lcore);
    if (!lcores.empty()) return lcores;
    return failure(EINVAL, "the EAL arguments leave no lcore for packets: give two with -l");
}

Eal::~Eal() {
    if (lock_) rte_eal_cleanup();
}

}  // namespace verbline::cli
