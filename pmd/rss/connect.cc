// SPDX-License-Identifier: BSD-3-Clause
// How SoftwareRss is made: which queue owns what, and the rings between them.
#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <rte_memory.h>

#include <fmt/format.h>

#include "pmd/rss/lane.h"
#include "pmd/rss/software_rss.h"

namespace verbline::pmd {
namespace {

constexpr auto names_no_queue = "the redirection table names none of the queues";

/// What cannot be in these options; none if all can.
std::optional<std::string> refusal(const NetDevice& device, const SoftwareRssOptions& options) {
    const auto& inside = device.capabilities();
    const auto beyond = [&](std::uint16_t queue) { return queue >= options.queues; };
    if (inside.carries == Carries::datagram && inside.tx_queues < options.queues) {
        return "packets that carry an address each cannot be handed over for transmission";
    }
    if (options.flows == nullptr || options.queues == 0) return "nothing to spread packets by, or over";
    if (options.owners.empty() || options.owners.size() != inside.rx_queues) {
        return fmt::format("{} owners of {} receive queues", options.owners.size(), inside.rx_queues);
    }
    if (inside.tx_queues == 0) return "no transmit queue";
    if (std::ranges::any_of(options.owners, beyond)) return "an owner is none of the queues";
    if (!std::has_single_bit(options.redirection.size())) return "the redirection table's size is no power of two";
    if (std::ranges::any_of(options.redirection, beyond)) return names_no_queue;
    if (!options.sockets.empty() && options.sockets.size() != options.queues) return "NUMA nodes of some queues only";
    return std::nullopt;
}

/// All queues in turns: with 128 entries, as NICs have, the shares of up to 8 queues differ by less than 7 per cent.
std::vector<std::uint16_t> in_turns(std::uint16_t queues) {
    const auto size = std::max<std::size_t>(128, std::bit_ceil(std::size_t{queues}));
    std::vector<std::uint16_t> table;
    for (std::size_t i = 0; i < size; ++i) table.push_back(static_cast<std::uint16_t>(i % queues));
    return table;
}

/// Among the tags of the device's queues.
constexpr std::uint64_t signal_tag = ~std::uint64_t{0};

}  // namespace

Result<std::unique_ptr<SoftwareRss>> SoftwareRss::create(std::unique_ptr<NetDevice> device,
                                                         SoftwareRssOptions options) {
    if (options.redirection.empty() && options.queues > 0) options.redirection = in_turns(options.queues);
    if (const auto reason = refusal(*device, options)) {
        return failure(EINVAL, fmt::format("device {}: cannot be shared by {} queues: {}", device->name(),
                                           options.queues, *reason));
    }
    std::unique_ptr<SoftwareRss> made(new SoftwareRss(std::move(device), std::move(options)));
    if (auto connected = made->connect(); !connected) return std::unexpected(connected.error());
    return made;
}

SoftwareRss::SoftwareRss(std::unique_ptr<NetDevice> device, SoftwareRssOptions options)
    : Decorator(std::move(device)), options_(std::move(options)), capabilities_(inner().capabilities()) {
    capabilities_.rx_queues = capabilities_.tx_queues = options_.queues;
}

Result<void> SoftwareRss::redirect(std::vector<std::uint16_t> redirection) {
    if (redirection.size() != options_.redirection.size())
        return failure(EINVAL, fmt::format("the redirection table has {} entries", options_.redirection.size()));
    if (std::ranges::any_of(redirection, [&](std::uint16_t queue) { return queue >= options_.queues; }))
        return failure(EINVAL, names_no_queue);
    options_.redirection = std::move(redirection);
    return {};
}

int SoftwareRss::socket_of(std::uint16_t queue) const {
    return options_.sockets.empty() ? SOCKET_ID_ANY : options_.sockets[queue];
}

Result<void> SoftwareRss::connect() {
    for (std::uint16_t i = 0; i < options_.queues; ++i) {
        auto& lane = *lanes_.emplace_back(std::make_unique<Lane>(i));
        if (!lane.signal || lane.wakeups.fd() < 0 || !lane.wakeups.add(lane.signal.descriptor(), signal_tag)) {
            const auto error = errno;
            return failure(error, fmt::format("device {}: cannot make an event for queue {}: {}", name(), i,
                                              std::strerror(error)));
        }
    }
    for (std::size_t i = 0; i < options_.owners.size(); ++i) {
        lanes_[options_.owners[i]]->owned.push_back(static_cast<std::uint16_t>(i));
    }
    for (const auto& lane : lanes_) {
        if (!lane->owns()) continue;
        if (auto done = add_outboxes(*lane); !done) return done;
    }
    return share_transmit_queues();
}

Result<void> SoftwareRss::add_outboxes(Lane& owner) {
    for (const auto& other : lanes_) {
        auto& outbox = owner.outboxes.emplace_back();
        if (other.get() == &owner) continue;
        // Names of rings are the process's; so are addresses.
        auto ring = HandoverRing::create(fmt::format("{}r{}-{}", fmt::ptr(this), owner.number, other->number),
                                         socket_of(other->number));
        if (!ring) return std::unexpected(ring.error());
        outbox.reset(new Outbox{.to = other.get(), .ring = std::move(*ring)});
        other->inboxes.push_back(&outbox->ring);
    }
    return {};
}

/// With fewer transmit queues than ours, each that has an owner is shared by those that have none, in turns.
Result<void> SoftwareRss::share_transmit_queues() {
    const auto transmit_queues = inner().capabilities().tx_queues;
    if (transmit_queues >= options_.queues) return {};
    std::vector<SharedTxQueue*> shared;
    for (std::uint16_t i = 0; i < std::min<std::size_t>(transmit_queues, options_.owners.size()); ++i) {
        auto& owner = *lanes_[options_.owners[i]];
        shared.push_back(owner.transmitters.emplace_back(std::make_unique<SharedTxQueue>(inner(), i)).get());
    }
    for (const auto& lane : lanes_) {
        if (!lane->transmitters.empty()) continue;
        const auto turn = lane->number % shared.size();
        auto& owner = *lanes_[options_.owners[turn]];
        auto ring = HandoverRing::create(fmt::format("{}t{}", fmt::ptr(this), lane->number), socket_of(owner.number));
        if (!ring) return std::unexpected(ring.error());
        lane->transmitter = &owner;
        shared[turn]->add_source(lane->to_transmitter.emplace(std::move(*ring)));
    }
    return {};
}

}  // namespace verbline::pmd
