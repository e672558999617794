// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Two Ethernet devices of one queue each, joined back to back by rings, so that the two ends may be polled by
/// different threads.

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "pmd/netdev.h"
#include "pmd/rss/handover_ring.h"

namespace verbline::test {

class CableEnd : public pmd::NetDevice {
public:
    CableEnd(std::shared_ptr<pmd::HandoverRing> in, std::shared_ptr<pmd::HandoverRing> out)
        : in_(std::move(in)), out_(std::move(out)) {
        capabilities_.max_packet = 4096 + 128;
    }

    std::string_view name() const override { return "cable"; }
    const pmd::Capabilities& capabilities() const override { return capabilities_; }
    Result<void> up() override { return {}; }
    void down() override {}
    bool link_up() override { return true; }
    std::uint16_t rx_burst(std::uint16_t, pmd::Burst burst) noexcept override { return in_->pop(burst); }
    std::uint16_t tx_burst(std::uint16_t, pmd::Burst burst) noexcept override { return out_->push(burst); }

private:
    pmd::Capabilities capabilities_;
    std::shared_ptr<pmd::HandoverRing> in_, out_;
};

/// Both ends. What is under way when the last of them goes is freed.
inline std::array<std::unique_ptr<pmd::NetDevice>, 2> cable() {
    static unsigned made = 0;  // names of rings are the process's
    const auto name = "cable" + std::to_string(made++);
    const auto ring = [](const std::string& called) {
        return std::make_shared<pmd::HandoverRing>(pmd::HandoverRing::create(called, pmd::any_numa_socket).value());
    };
    const auto there = ring(name + "t"), back = ring(name + "b");
    return {std::make_unique<CableEnd>(back, there), std::make_unique<CableEnd>(there, back)};
}

}  // namespace verbline::test
