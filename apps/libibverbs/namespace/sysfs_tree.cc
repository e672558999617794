// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/namespace/sysfs_tree.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "datapath/wire/bytes.h"
#include "pmd/base/directory.h"
#include "pmd/base/file_descriptor.h"

namespace verbline::verbs {
namespace {

namespace fs = std::filesystem;

/// One directory of the tree. The first failure is kept and ends the writing: the caller checks once, at the end.
class Writer {
public:
    explicit Writer(fs::path at) : at_(std::move(at)) {}

    Writer directory(const std::string& name) {
        Writer below(at_ / name);
        std::error_code problem;
        fs::create_directories(below.at_, problem);
        if (problem) below.error_ = Error{problem.value(), describe(below.at_, problem.value())};
        return below;
    }

    void file(const std::string& name, std::string_view line) {
        if (error_.code != 0) return;
        const auto text = fmt::format("{}\n", line);
        const auto part = at_ / fmt::format(".{}.{}", name, getpid());
        const FileDescriptor out(open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
        const bool written = out && write(out.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
        if (written && rename(part.c_str(), (at_ / name).c_str()) == 0) return;
        error_ = Error{errno, describe(at_ / name, errno)};
        unlink(part.c_str());
    }

    /// Removes the entries that are numbers from `first` on: the table has become shorter.
    void end_at(std::size_t first) {
        for_each_entry(at_, [&](const std::string& name) {
            std::size_t number = 0;
            const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
            if (error == std::errc{} && end == name.data() + name.size() && number >= first) remove(name);
        });
    }
    void remove(const std::string& name) const { unlink((at_ / name).c_str()); }

    void take_error(const Writer& below) {
        if (error_.code == 0) error_ = below.error_;
    }
    Result<void> outcome() const {
        if (error_.code != 0) return std::unexpected(error_);
        return {};
    }

private:
    static std::string describe(const fs::path& what, int error) {
        return fmt::format("cannot write {}: {}", what.string(), std::strerror(error));
    }

    fs::path at_;
    Error error_{0, {}};
};

/// The speed of one lane, as the kernel names it (IBTA volume 1, 14.2.5.6).
std::string_view lane_name(unsigned gigabits) {
    if (gigabits >= 100) return "NDR";
    if (gigabits >= 50) return "HDR";
    if (gigabits >= 25) return "EDR";
    if (gigabits >= 14) return "FDR";
    if (gigabits >= 10) return "QDR";
    return gigabits >= 5 ? "DDR" : "SDR";
}

std::string rate(const DeviceFacts& facts) {
    const auto lanes = std::max(facts.lanes, 1U);
    return fmt::format("{} Gb/sec ({}X {})", facts.gigabits, lanes, lane_name(facts.gigabits / lanes));
}

/// One bit per processor, in words of 32 bits, as in every cpumask of sysfs.
std::string every_processor() {
    const auto count = static_cast<unsigned>(std::max(sysconf(_SC_NPROCESSORS_CONF), 1L));
    const auto top = (count - 1) / 32, left = count - top * 32;
    auto text = fmt::format("{:x}", left == 32 ? ~0U : (1U << left) - 1);
    for (unsigned i = 0; i < top; ++i) text += ",ffffffff";
    return text;
}

void write_locality(Writer node, const DeviceFacts& facts, Writer& errors) {
    auto device = node.directory("device");
    device.file("numa_node", "-1");  // the engine is wherever its program runs
    device.file("local_cpus", every_processor());
    errors.take_error(device);
    if (facts.interface.empty()) return;  // programs that find the directory expect a name in it
    auto net = device.directory("net");
    errors.take_error(net.directory(facts.interface));
    errors.take_error(net);
}

void write_gids(Writer port, std::span<const GidFacts> gids, Writer& errors) {
    auto values = port.directory("gids");
    auto attributes = port.directory("gid_attrs");
    auto types = attributes.directory("types"), interfaces = attributes.directory("ndevs");
    for (std::size_t i = 0; i < gids.size(); ++i) {
        const auto name = fmt::format("{}", i);
        values.file(name, sysfs_text(gids[i].gid));
        types.file(name, gids[i].type == GidType::roce_v2 ? "RoCE v2" : "IB/RoCE v1");
        if (gids[i].interface.empty())
            interfaces.remove(name);
        else
            interfaces.file(name, gids[i].interface);
    }
    for (auto* table : {&values, &types, &interfaces}) {
        table->end_at(gids.size());
        errors.take_error(*table);
    }
}

void write_counters(Writer counters, std::span<const std::pair<std::string, std::uint64_t>> values, Writer& errors) {
    for (const auto& [name, value] : values) counters.file(name, fmt::format("{}", value));
    errors.take_error(counters);
}

void write_port(Writer port, const DeviceFacts& facts, Writer& errors) {
    port.file("link_layer", facts.infiniband ? "InfiniBand" : "Ethernet");
    port.file("state", facts.active ? "4: ACTIVE" : "1: DOWN");
    port.file("phys_state", facts.active ? "5: LinkUp" : "3: Disabled");
    port.file("rate", rate(facts));
    port.file("lid", fmt::format("{:#x}", static_cast<std::uint16_t>(facts.lid)));
    port.file("lid_mask_count", fmt::format("{}", facts.lmc));
    port.file("sm_lid", fmt::format("{:#x}", static_cast<std::uint16_t>(facts.sm_lid)));
    port.file("sm_sl", fmt::format("{}", facts.sm_sl));
    port.file("cap_mask", fmt::format("{:#010x}", facts.capabilities));
    auto pkeys = port.directory("pkeys");
    for (std::size_t i = 0; i < facts.pkeys.size(); ++i)
        pkeys.file(fmt::format("{}", i), fmt::format("{:#06x}", static_cast<std::uint16_t>(facts.pkeys[i])));
    pkeys.end_at(facts.pkeys.size());
    errors.take_error(port);
    errors.take_error(pkeys);
    write_gids(port, facts.gids, errors);
    write_counters(port.directory("counters"), facts.counters, errors);
    write_counters(port.directory("hw_counters"), facts.hw_counters, errors);
}

void write_node(Writer node, const DeviceFacts& facts, Writer& errors) {
    node.file("node_type", "1: CA");
    node.file("node_guid", sysfs_text(facts.node_guid));
    node.file("sys_image_guid", sysfs_text(facts.node_guid));
    node.file("node_desc", facts.name);
    node.file("fw_ver", facts.firmware);
    node.file("hca_type", "verbline");
    node.file("hw_rev", "0");  // as ibv_query_device: hw_ver
    node.file("board_id", facts.board);
    errors.take_error(node);
    write_locality(node, facts, errors);
    write_port(node.directory("ports").directory("1"), facts, errors);
}

void write_verbs(Writer verbs, const DeviceFacts& facts, Writer& errors) {
    verbs.file("abi_version", "6");  // IB_USER_VERBS_ABI_VERSION of rdma/ib_user_verbs.h
    auto device = verbs.directory(fmt::format("uverbs{}", facts.index));
    device.file("ibdev", facts.name);
    device.file("abi_version", "1");
    errors.take_error(verbs);
    errors.take_error(device);
}

/// As the kernel's user_mad.c writes it: one entry for each port, and ours have one port.
void write_mad(Writer mad, const DeviceFacts& facts, Writer& errors) {
    constexpr unsigned major = 231;  // IB_UMAD_FIXED_MAJOR; the minor numbers of umadN begin at 0
    mad.file("abi_version", "5");    // IB_USER_MAD_ABI_VERSION of rdma/ib_user_mad.h
    auto port = mad.directory(fmt::format("umad{}", facts.index));
    port.file("ibdev", facts.name);
    port.file("port", "1");
    port.file("dev", fmt::format("{}:{}", major, facts.index));
    errors.take_error(mad);
    errors.take_error(port);
}

}  // namespace

Result<void> SysfsTree::update(const DeviceFacts& facts) const {
    Writer root(root_), errors(root_);
    write_node(root.directory("infiniband").directory(facts.name), facts, errors);
    write_verbs(root.directory("infiniband_verbs"), facts, errors);
    write_mad(root.directory("infiniband_mad"), facts, errors);
    return errors.outcome();
}

std::string sysfs_text(const wire::Gid& gid) {
    std::string text;
    for (std::size_t i = 0; i < gid.bytes.size(); i += 2)
        text += fmt::format("{}{:04x}", i == 0 ? "" : ":", wire::load16(gid.bytes, i));
    return text;
}

std::string sysfs_text(wire::Guid guid) {
    constexpr std::size_t half = 20;  // what an all-zero prefix takes, with its colon
    return sysfs_text(wire::Gid::of(0, guid)).substr(half);
}

}  // namespace verbline::verbs
