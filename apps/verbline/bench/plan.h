// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What `verbline bench packet` is to do: its options, parsed, before any device is open.

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "apps/verbline/bench/port_choice.h"
#include "apps/verbline/bench/values.h"
#include "datapath/traffic/forwarder.h"
#include "datapath/traffic/frame_template.h"
#include "datapath/traffic/size_mix.h"
#include "pmd/base/error.h"
#include "pmd/base/time.h"
#include "pmd/factory/device_spec.h"
#include "pmd/impair/spec.h"

namespace verbline::bench {

enum class Role : std::uint8_t { generator, sink, forwarder, loopback };
enum class Timestamps : std::uint8_t { tsc, hardware };
enum class Search : std::uint8_t { none, throughput, loss, back_to_back };

/// As typed. The defaults are those of the command.
struct PacketTexts {
    std::vector<std::string> devices;
    std::string role = "loopback", size = "64", rate, protocol = "udp", forward = "io", search, impair, lcores,
                timestamps = "tsc", flow_rules;
    std::string vlan, source_mac, destination_mac, source_ip, destination_ip, source_port, destination_port,
        destination_qpn;
    std::uint32_t flows = 0, mtu = 0;
    std::uint16_t queues = 1, burst = 32;
    std::uint64_t frames = 0;
    double seconds = 0, trial_seconds = 2, resolution_percent = 0.5, accepted_loss_percent = 0, catch_up_ms = 0;
    bool ipv6 = false, software_rss = false, soak = false, bidirectional = false, isolated = false;
    PortTexts ports;
};

struct PacketPlan {
    std::vector<pmd::DeviceSpec> devices;  ///< one or two
    std::vector<std::string> device_texts;
    Role role = Role::loopback;
    traffic::SizeMix sizes;
    std::string protocol = "udp";  ///< of the frames, as typed
    traffic::FrameTemplate frames;
    std::uint64_t flows = 1;  ///< of those that the template makes
    std::optional<AskedRate> rate;
    std::uint64_t frame_limit = std::numeric_limits<std::uint64_t>::max();  ///< to send, all queues together
    std::optional<Time> duration;                                           ///< none: until a signal
    traffic::Rewrite rewrite{};
    std::uint16_t queues = 1, burst = 32, mtu = 1500;
    std::vector<unsigned> lcores;  ///< empty: all that the EAL has for packets
    std::optional<pmd::ImpairSpec> impair;
    PortChoice ports;
    bool software_rss = false, soak = false;
    bool roce_rules = false;     ///< devices that receive are to send RoCE to queues by rules (pmd/ethdev/roce_rules.h)
    bool isolated = false;       ///< and to leave all else to the kernel
    bool bidirectional = false;  ///< loopback: each of two devices sends, and receives what the other has sent
    Timestamps timestamps = Timestamps::tsc;  ///< by which the latency of loopback is measured
    Search search = Search::none;
    Time trial = 2 * second, catch_up = 0;
    double resolution = 0.005, accepted_loss = 0;

    bool sends() const { return role == Role::generator || role == Role::loopback; }
    unsigned directions() const { return bidirectional ? 2 : 1; }
    bool receives() const { return role == Role::sink || role == Role::loopback; }
    /// Whether a device, by its number, has a sink.
    bool receives_by(std::size_t device) const { return receives() && (device + 1 == devices.size() || bidirectional); }
};

/// EINVAL: one line that names the option.
Result<PacketPlan> make_plan(const PacketTexts& texts);

}  // namespace verbline::bench
