// SPDX-License-Identifier: BSD-3-Clause
#include "control/gateway/programs.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "datapath/link/ip_gid.h"
#include "datapath/program/object.h"

namespace verbline::gateway {
namespace {

std::vector<std::string> names_of(std::span<const PortConfig> ports) {
    std::vector<std::string> names;
    for (const auto& port : ports) names.push_back(port.name);
    return names;
}

Error of_line(const GatewayConfig& config, const PortConfig& port, const Error& error) {
    return config_error(config.file, port.lines.program != 0 ? port.lines.program : port.lines.port,
                        fmt::format("program of {}: {}", port.name, error.what));
}

wire::Ipv4Prefix ipv4_prefix(const link::InterfaceAddress& network) {
    return {*link::ipv4_of(network.gid), network.length};
}
wire::Ipv6Prefix ipv6_prefix(const link::InterfaceAddress& network) {
    return {link::ipv6_of(network.gid), network.length};
}

std::string counted_prefixes(std::size_t count, std::string_view done) {
    return fmt::format("{} {} {}", count, count == 1 ? "prefix" : "prefixes", done);
}

}  // namespace

Programs::Port::Port(std::vector<std::string> names, std::uint16_t number, std::size_t shards, rte_rcu_qsbr& readers)
    : name_(names[number]),
      engine_(std::make_unique<program::PortProgram>(std::move(names), number, shards, readers)) {}

/// With value 0 they are removed. Nothing is changed that is not changed as a whole.
Result<void> Programs::Port::change_prefixes(std::span<const link::InterfaceAddress> prefixes,
                                             program::PrefixValue value) {
    auto ipv4 = ipv4_;
    auto ipv6 = ipv6_;
    const auto change = [&](auto& set, const auto& prefix) {
        if (value != 0) set[prefix] = value;
        return value != 0 || set.erase(prefix) > 0;
    };
    for (const auto& network : prefixes) {
        const bool found =
            link::ipv4_of(network.gid) ? change(ipv4, ipv4_prefix(network)) : change(ipv6, ipv6_prefix(network));
        if (!found) return failure(ENOENT, fmt::format("{} has no prefix {}", name_, to_string(network)));
    }
    if (std::max(ipv4.size(), ipv6.size()) > max_prefixes)
        return failure(ENOSPC, fmt::format("{} would have more than {} prefixes", name_, max_prefixes));
    ipv4_ = std::move(ipv4);
    ipv6_ = std::move(ipv6);
    engine_->set_prefixes(std::make_unique<const program::PrefixTables>(program::PrefixTables{
        program::PrefixTable<wire::Ipv4Address>(ipv4_), program::PrefixTable<wire::Ipv6Address>(ipv6_)}));
    return {};
}

Programs::Programs(std::span<const PortConfig> ports, std::size_t shards, rte_rcu_qsbr& readers) {
    for (std::size_t i = 0; i < ports.size(); ++i)
        ports_.emplace_back(names_of(ports), static_cast<std::uint16_t>(i), shards, readers);
}

Result<void> Programs::load_all(const GatewayConfig& config) {
    for (std::size_t i = 0; i < ports_.size(); ++i) {
        const auto& wanted = config.ports[i];
        if (wanted.program.empty()) continue;
        const auto running = run(ports_[i], {wanted.program, wanted.program_section});
        if (!running) return std::unexpected(of_line(config, wanted, running.error()));
    }
    return {};
}

Result<std::vector<Programs::Prepared>> Programs::prepare(const Changes& changes, const GatewayConfig& running,
                                                          const GatewayConfig& wanted) {
    std::vector<Prepared> prepared;
    for (const auto port : changes.programs) {
        const auto& config = *find_port(wanted, running.ports[port].name);
        auto& next = prepared.emplace_back(Prepared{port, {config.program, config.program_section}, nullptr});
        if (config.program.empty()) continue;
        auto compiled = compile(ports_[port], next.source);
        if (!compiled) return std::unexpected(of_line(wanted, config, compiled.error()));
        next.program = std::move(*compiled);
    }
    return prepared;
}

void Programs::publish(std::vector<Prepared> prepared) {
    for (auto& [port, source, program] : prepared) {
        if (program) ++ports_[port].loads_;
        ports_[port].source_ = std::move(source);
        ports_[port].engine().publish(std::move(program));
    }
}

Result<std::string> Programs::load(std::string_view port, const Source& source) {
    const auto found = find(port);
    if (!found) return std::unexpected(found.error());
    if ((*found)->running() != nullptr)
        return failure(EEXIST, fmt::format("{} has a program, {}: replace or unload it", port, (*found)->source_.file));
    return run(**found, source);
}

Result<std::string> Programs::replace(std::string_view port, const Source& source) {
    const auto found = find(port);
    if (!found) return std::unexpected(found.error());
    if ((*found)->running() == nullptr) return failure(ENOENT, fmt::format("{} has no program: load one", port));
    return run(**found, source);
}

Result<std::string> Programs::unload(std::string_view port) {
    const auto found = find(port);
    if (!found) return std::unexpected(found.error());
    if ((*found)->running() == nullptr) return failure(ENOENT, fmt::format("{} has no program", port));
    (*found)->engine().publish(nullptr);
    const auto old = std::exchange((*found)->source_, {});
    return fmt::format("{} has no program any more; it was {}", port, old.file);
}

Result<std::string> Programs::add_prefixes(std::string_view port, std::span<const link::InterfaceAddress> prefixes,
                                           program::PrefixValue value) {
    const auto found = find(port);
    if (!found) return std::unexpected(found.error());
    if (auto changed = (*found)->change_prefixes(prefixes, std::max<program::PrefixValue>(1, value)); !changed)
        return std::unexpected(changed.error());
    return counted_prefixes(prefixes.size(), "added");
}

Result<std::string> Programs::remove_prefixes(std::string_view port, std::span<const link::InterfaceAddress> prefixes) {
    const auto found = find(port);
    if (!found) return std::unexpected(found.error());
    if (auto changed = (*found)->change_prefixes(prefixes, 0); !changed) return std::unexpected(changed.error());
    return counted_prefixes(prefixes.size(), "deleted");
}

void Programs::reclaim() {
    for (auto& port : ports_) port.engine().reclaim();
}

Result<Programs::Port*> Programs::find(std::string_view port) {
    const auto found = std::ranges::find(ports_, port, &Port::name);
    if (found != ports_.end()) return &*found;
    std::string names;
    for (const auto& each : ports_) names += (names.empty() ? "" : ", ") + each.name();
    return failure(ENOENT, fmt::format("there is no port {}, but {}", port, names));
}

Result<std::unique_ptr<program::Program>> Programs::compile(Port& port, const Source& source) {
    const auto object = program::read_object(source.file, source.section);
    if (!object) return std::unexpected(object.error());
    auto compiled = port.engine().prepare(*object, log_);
    if (!compiled)
        return failure(compiled.error().code,
                       fmt::format("{}: section {}: {}", source.file, object->section, compiled.error().what));
    return compiled;
}

Result<std::string> Programs::run(Port& port, const Source& source) {
    auto compiled = compile(port, source);
    if (!compiled) return std::unexpected(compiled.error());
    const auto text =
        fmt::format("{} runs {} of {}: {} instructions, {}", port.name(), (*compiled)->section(), source.file,
                    (*compiled)->instructions(), (*compiled)->compiled() ? "compiled" : "interpreted");
    port.engine().publish(std::move(*compiled));
    port.source_ = source;
    ++port.loads_;
    return text;
}

}  // namespace verbline::gateway
