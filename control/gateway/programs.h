// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The packet programs of a gateway's ports: from files to what the shards run, and their sets of prefixes.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "control/gateway/changes.h"
#include "control/gateway/config.h"
#include "datapath/link/interface_address.h"
#include "datapath/program/port_program.h"
#include "pmd/base/error.h"

struct rte_rcu_qsbr;

namespace verbline::gateway {

class Programs {
public:
    static constexpr std::size_t max_prefixes = 65'536;  ///< of a port, of each family

    /// Where a program comes from.
    struct Source {
        std::string file;     ///< empty: there is none
        std::string section;  ///< empty: the only one
        bool operator==(const Source&) const = default;
    };
    /// One port's; the set is empty unless `prefixes` have been added.
    class Port {
    public:
        Port(std::vector<std::string> names, std::uint16_t number, std::size_t shards, rte_rcu_qsbr& readers);

        const std::string& name() const { return name_; }
        /// Of what runs.
        const Source& source() const { return source_; }
        /// Null: none runs.
        const program::Program* running() const { return engine_->current(); }
        program::PortProgram& engine() { return *engine_; }
        const program::PortProgram& engine() const { return *engine_; }
        std::uint64_t loads() const { return loads_; }
        const program::PrefixTable<wire::Ipv4Address>::Prefixes& ipv4() const { return ipv4_; }
        const program::PrefixTable<wire::Ipv6Address>::Prefixes& ipv6() const { return ipv6_; }

    private:
        friend class Programs;

        Result<void> change_prefixes(std::span<const link::InterfaceAddress> prefixes, program::PrefixValue value);

        std::string name_;
        std::unique_ptr<program::PortProgram> engine_;
        Source source_;
        std::uint64_t loads_ = 0;
        program::PrefixTable<wire::Ipv4Address>::Prefixes ipv4_;
        program::PrefixTable<wire::Ipv6Address>::Prefixes ipv6_;
    };

    /// `readers` must outlive the object, and the shards must not.
    Programs(std::span<const PortConfig> ports, std::size_t shards, rte_rcu_qsbr& readers);

    const std::vector<Port>& ports() const { return ports_; }
    program::PortProgram& engine(std::size_t port) { return ports_[port].engine(); }

    /// Loads the configuration's programs, before there are shards. The error is config_error() of the line.
    Result<void> load_all(const GatewayConfig& config);

    // While the gateway runs. An error is one line, and nothing has changed.

    /// What `changes` will have the ports run, ready to do so. The error is config_error() of the line.
    struct Prepared {
        std::size_t port;
        Source source;
        std::unique_ptr<program::Program> program;  ///< null: none
    };
    Result<std::vector<Prepared>> prepare(const Changes& changes, const GatewayConfig& running,
                                          const GatewayConfig& wanted);
    void publish(std::vector<Prepared> prepared);

    /// `load` wants the port to have no program, `replace` one. Returns a line about what runs.
    Result<std::string> load(std::string_view port, const Source& source);
    Result<std::string> replace(std::string_view port, const Source& source);
    Result<std::string> unload(std::string_view port);
    /// Adds networks to the port's set, or gives those that it has another value; 1 at least.
    Result<std::string> add_prefixes(std::string_view port, std::span<const link::InterfaceAddress> prefixes,
                                     program::PrefixValue value);
    /// ENOENT, with the first of them that the set does not have.
    Result<std::string> remove_prefixes(std::string_view port, std::span<const link::InterfaceAddress> prefixes);

    /// Call a few times a second.
    void reclaim();

private:
    Result<Port*> find(std::string_view port);
    Result<std::unique_ptr<program::Program>> compile(Port& port, const Source& source);
    Result<std::string> run(Port& port, const Source& source);

    program::VerifierLog log_;
    std::vector<Port> ports_;
};

}  // namespace verbline::gateway
