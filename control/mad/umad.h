// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A port of an RDMA adapter, through the kernel's user MAD interface (libibumad).
///
/// Port attributes are read by directed-route Get(PortInfo) and Get(PKeyTable) to ourselves, which the adapter's own
/// management agent answers; where those are not allowed (virtual functions), they are read from sysfs, except for the
/// MTU.
///
/// The kernel overwrites the upper half of transaction ids, delivers an answer only while it waits for one, and rejects
/// a retransmission in the meantime: hence `reply_within` of `send`.
///
/// Under ibsim's preload library (tests), umad descriptors are not real and cannot be in an epoll set; they are polled
/// by a timer.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "control/loop/loop.h"
#include "control/mad/transport.h"

namespace verbline::mad {

class UmadTransport final : public Transport {
public:
    static Result<std::unique_ptr<UmadTransport>> open(const std::string& device, int port, control::Loop& loop);
    ~UmadTransport() override;

    const std::string& spec() const override { return spec_; }
    bool shared() const override { return true; }
    void send(const MadAddress& to, MadBytes mad, Time reply_within) override;
    void refresh() override;

private:
    UmadTransport(std::string device, int port, control::Loop& loop);

    Result<void> attach();
    Result<void> register_agents();
    bool read_sysfs(PortFacts& facts) const;
    bool wait_for_smps();
    void ask_smp(wire::AttributeId attribute, std::uint32_t modifier);
    void take_smp(MadBytes mad);
    bool read_one();
    bool write(int agent, const MadAddress& to, MadBytes mad, int timeout_ms);

    const std::string device_, spec_;
    const int port_number_;
    control::Loop& loop_;
    int umad_ = -1;
    int sa_agent_ = -1, smp_agent_ = -1;
    control::Watch watch_;
    control::Timer poll_;
    std::vector<std::byte> buffer_;  ///< umad header and one MAD
    bool smps_answered_ = false;     ///< false: attributes come from sysfs
    PortFacts seen_;                 ///< collected by the current refresh
    std::uint32_t smp_tid_ = 0;
};

}  // namespace verbline::mad
