// SPDX-License-Identifier: BSD-3-Clause
#include "control/gateway/subnet.h"

#include <algorithm>
#include <span>

#include "control/mad/captured_frame.h"
#include "control/mad/open.h"
#include "pmd/base/clock.h"

namespace verbline::gateway {

using pmd::pcapng::Direction;

Result<std::shared_ptr<Subnet>> Subnet::open(const std::string& sm, const std::string& backup, control::Loop& loop) {
    auto transport = mad::open(sm, loop);
    if (!transport) return std::unexpected(transport.error());
    if (backup.empty()) return std::shared_ptr<Subnet>(new Subnet(std::move(*transport), loop));
    auto second = mad::open(backup, loop);
    if (!second) return std::unexpected(second.error());
    auto pair = std::make_unique<mad::ActiveBackupTransport>(
        mad::ActiveBackupTransport::Members{std::move(*transport), std::move(*second)});
    auto* const made = pair.get();
    const std::shared_ptr<Subnet> subnet(new Subnet(std::move(pair), loop));
    subnet->pair_ = made;
    return subnet;
}

sa::Agent& Subnet::agent() {
    if (!agent_) agent_ = std::make_unique<sa::Agent>(*transport_, loop_);
    return *agent_;
}

void Subnet::capture(pmd::CaptureFile& file, const std::string& name) {
    auto& writer = file.writer();
    if (std::ranges::any_of(records_, [&](const auto& each) { return each.first == &writer; })) return;
    records_.emplace_back(&writer, writer.add_interface(name + " MADs", pmd::pcapng::LinkType::infiniband));
    transport_->capture([this](mad::Direction direction, Time, mad::MadBytes mad, const mad::MadAddress& far,
                               const mad::PortFacts& port) { record(direction, mad, far, port); });
}

void Subnet::stop_capture(pmd::CaptureFile& file) {
    std::erase_if(records_, [&](const auto& each) { return each.first == &file.writer(); });
}

void Subnet::stop_capture() {
    transport_->capture({});
}

void Subnet::record(mad::Direction direction, mad::MadBytes mad, const mad::MadAddress& far,
                    const mad::PortFacts& port) {
    const auto way = direction == mad::Direction::sent ? Direction::outbound : Direction::inbound;
    const auto frame = mad::make_frame(direction, mad, far, port);
    for (const auto& [writer, interface] : records_) {
        writer->write(interface, way, utc_now(), std::as_bytes(std::span(frame)));
    }
}

}  // namespace verbline::gateway
