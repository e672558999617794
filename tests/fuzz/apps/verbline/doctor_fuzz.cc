// SPDX-License-Identifier: BSD-3-Clause
// Whatever the files of a recorded tree hold and programs print, findings are made of it, with commands of one line
// whose words from outside are plain ones. The input is a list of files: one byte for which it is, one for its length
// in units of four, its contents.
#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include "apps/verbline/doctor/checks.h"
#include "apps/verbline/doctor/fact_reader.h"
#include "apps/verbline/doctor/report.h"

namespace {

using namespace verbline;

void require(bool holds) {
    if (!holds) std::abort();
}

constexpr std::array<std::string_view, 34> files{
    "proc/cmdline",
    "proc/self/status",
    "proc/net/route",
    "proc/net/ipv6_route",
    "sys/devices/system/cpu/online",
    "sys/devices/system/cpu/isolated",
    "sys/devices/system/cpu/nohz_full",
    "sys/devices/system/cpu/cpufreq/boost",
    "sys/devices/system/cpu/cpu1/topology/thread_siblings_list",
    "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor",
    "sys/devices/system/cpu/cpu1/cpufreq/energy_performance_preference",
    "sys/devices/system/cpu/cpu1/cpuidle/state2/latency",
    "sys/devices/system/cpu/cpu1/cpuidle/state2/disable",
    "sys/devices/system/cpu/cpu1/cpuidle/state2/name",
    "sys/devices/system/cpu/cpu1/node1/x",
    "sys/devices/system/clocksource/clocksource0/current_clocksource",
    "sys/devices/system/clocksource/clocksource0/available_clocksource",
    "sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages",
    "sys/devices/system/node/node0/hugepages/hugepages-2048kB/free_hugepages",
    "sys/devices/system/node/node1/hugepages/hugepages-1048576kB/nr_hugepages",
    "sys/devices/system/node/node1/hugepages/hugepages-1048576kB/free_hugepages",
    "sys/kernel/mm/transparent_hugepage/enabled",
    "sys/kernel/iommu_groups/1/type",
    "sys/bus/pci/devices/0000:3b:00.0/config",
    "sys/bus/pci/devices/0000:3b:00.0/device",
    "sys/bus/pci/devices/0000:3b:00.0/numa_node",
    "sys/bus/pci/devices/0000:3b:00.0/current_link_speed",
    "sys/bus/pci/devices/0000:3b:00.0/max_link_width",
    "sys/bus/pci/devices/0000:3b:00.0/net/eth1/type",
    "sys/bus/pci/devices/0000:3b:00.0/net/eth1/mtu",
    "sys/bus/pci/devices/0000:3b:00.0/net/eth1/flags",
    "sys/bus/pci/devices/0000:3b:00.0/infiniband/mlx5_0/ports/1/gid_attrs/types/0",
    "devlink",
    "ethtool"};

/// A machine with one adapter; every input begins with the same files.
class Tree {
public:
    Tree() {
        std::string name = std::filesystem::temp_directory_path() / "verbline-fuzz-XXXXXX";
        require(mkdtemp(name.data()) != nullptr);
        root = name;
        for (const auto file : files) std::filesystem::create_directories((root / file).parent_path());
        std::filesystem::create_symlink("../mlx5_core", root / "sys/bus/pci/devices/0000:3b:00.0/driver");
    }
    Tree(const Tree&) = delete;
    Tree& operator=(const Tree&) = delete;
    ~Tree() {
        std::error_code problem;
        std::filesystem::remove_all(root, problem);
    }

    void reset() const {
        for (const auto file : files) std::filesystem::remove(root / file);
        write("sys/bus/pci/devices/0000:3b:00.0/class", "0x020000");
        write("sys/bus/pci/devices/0000:3b:00.0/vendor", "0x15b3");
        write("sys/bus/pci/devices/0000:3b:00.0/device", "0x101d");
        write("sys/bus/pci/devices/0000:3b:00.0/net/eth1/type", "1");
        write("sys/devices/system/cpu/online", "0-3");
    }
    void write(std::string_view file, std::string_view content) const {
        std::ofstream(root / file, std::ios::binary) << content;
    }
    std::string content(std::string_view file) const {
        return doctor::RootDirectory(root).beginning(file).value_or("");
    }

    std::filesystem::path root;
};

/// The programs print what the files of their names hold.
class Printed final : public doctor::Programs {
public:
    explicit Printed(const Tree& tree) : tree_(tree) {}
    Result<std::string> output(std::span<const std::string> words) override { return tree_.content(words.front()); }

private:
    const Tree& tree_;
};

void check(const doctor::Finding& finding) {
    require(!finding.subject.empty() && !finding.found.empty());
    // Of these, each command has what its own text has, and nothing comes from a file.
    constexpr std::string_view letters =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ._:@+-/=*>'\"$&|[]{}\\^,";
    require(finding.command.find_first_not_of(letters) == std::string::npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    static const Tree tree;
    tree.reset();
    while (size >= 2) {
        const auto length = std::min<std::size_t>(data[1] * 4u, size - 2);
        tree.write(files[data[0] % files.size()], {reinterpret_cast<const char*>(data + 2), length});
        data += length + 2;
        size -= length + 2;
    }
    Printed programs(tree);
    const auto facts = doctor::FactReader(doctor::RootDirectory(tree.root), programs).read({});
    require(facts.has_value() && facts->ports.size() == 1);
    const auto findings = doctor::diagnose(*facts);
    for (const auto& finding : findings) check(finding);
    const auto text = doctor::render_text(findings);
    require(std::ranges::none_of(text, [](unsigned char c) { return std::iscntrl(c) != 0 && c != '\n'; }));
    require(cli::Json::parse(cli::render_json(doctor::rows(findings)), nullptr, false).is_array());
    return 0;
}
