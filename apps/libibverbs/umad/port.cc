// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/umad/port.h"

#include <cerrno>
#include <future>
#include <utility>

#include <fmt/format.h>

#include "apps/libibverbs/port/process.h"
#include "apps/libibverbs/settings/fabric_port.h"
#include "apps/libibverbs/umad/fabric_carrier.h"

namespace verbline::verbs {

Result<void> UmadPort::start(const Link& link, QueuePairCarrier::OpenPort open) {
    auto take = [this](std::uint8_t qpn, const FarEnd& from, mad::MadBytes mad, std::size_t length) {
        received(qpn, from, mad, length);
    };
    const auto fabric = fabric_of(link);
    if (!fabric) {
        carrier_ = std::make_unique<QueuePairCarrier>(std::move(open), loop_, std::move(take));
        return {};
    }
    auto carrier = FabricCarrier::create(*fabric, std::move(open), loop_, std::move(take));
    if (!carrier) return std::unexpected(carrier.error());
    carrier_ = std::move(*carrier);
    return {};
}

void UmadPort::add(const std::shared_ptr<UmadFile>& file) {
    const std::scoped_lock lock(mutex_);
    files_.emplace(file->id(), file);
}

void UmadPort::remove(FileId file) {
    const std::scoped_lock lock(mutex_);
    engine_.close(file);
    files_.erase(file);
}

Result<std::uint32_t> UmadPort::register_agent(FileId file, const Registration& registration) {
    if (registration.qpn == 0 && !infiniband_) return failure(EPROTONOSUPPORT, "Ethernet ports have no QP0");
    if (registration.qpn == 1 && registration.management_class != wire::MadClass::subnet_administration) serve();
    const std::scoped_lock lock(mutex_);
    return engine_.register_agent(file, registration);
}

/// Waits until QP1 is there: to open it takes longer than some programs wait for an answer.
void UmadPort::serve() {
    std::promise<void> done;
    loop_.post([this, &done] {
        if (carrier_ != nullptr) carrier_->serve();
        done.set_value();
    });
    done.get_future().wait();
}

Result<void> UmadPort::unregister_agent(FileId file, std::uint32_t id) {
    std::shared_ptr<UmadFile> open;
    {
        const std::scoped_lock lock(mutex_);
        if (auto done = engine_.unregister_agent(file, id); !done) return done;
        const auto found = files_.find(file);
        if (found != files_.end()) open = found->second;
    }
    if (open != nullptr) open->drop(id);
    return {};
}

Result<void> UmadPort::write(FileId file, Outgoing message) {
    if (!infiniband_ && !message.to.route) return failure(EINVAL, "no GRH");
    UmadEngine::Actions actions;
    {
        const std::scoped_lock lock(mutex_);
        if (auto written = engine_.write(file, std::move(message), loop_.now(), actions); !written) return written;
    }
    loop_.post([port = shared_from_this(), actions = std::move(actions)]() mutable {
        port->carry_out(std::move(actions));
        port->arm();
    });
    return {};
}

/// Any thread that drains QP1, or the control thread.
void UmadPort::received(std::uint8_t qpn, const FarEnd& from, mad::MadBytes mad, std::size_t length) {
    UmadEngine::Actions actions;
    {
        const std::scoped_lock lock(mutex_);
        engine_.received(qpn, from, mad, length, loop_.now(), actions);
    }
    if (actions.transmissions.empty()) return carry_out(std::move(actions));
    loop_.post([port = shared_from_this(), actions = std::move(actions)]() mutable {
        port->carry_out(std::move(actions));
        port->arm();
    });
}

void UmadPort::complain_of_lost() {
    if (complained_.exchange(true, std::memory_order_relaxed)) return;
    complain({.code = ENOBUFS,
              .what = fmt::format("umad: a file has {} messages that the program has not read; further ones are lost. "
                                  "Let the program read them, or unregister the agent that they are for",
                                  UmadFile::most_queued)});
}

/// Transmissions: on the control thread.
void UmadPort::carry_out(UmadEngine::Actions actions) {
    for (const auto& transmission : actions.transmissions)
        if (carrier_ != nullptr) carrier_->send(transmission);
    for (auto& arrival : actions.arrivals) {
        std::shared_ptr<UmadFile> file;
        {
            const std::scoped_lock lock(mutex_);
            const auto found = files_.find(arrival.file);
            if (found != files_.end()) file = found->second;
        }
        if (file == nullptr) continue;
        file->queue(std::move(arrival.message));
        if (file->messages_lost() == 1) complain_of_lost();
    }
}

void UmadPort::arm() {
    std::optional<Time> due;
    {
        const std::scoped_lock lock(mutex_);
        due = engine_.deadline();
    }
    if (due) timer_ = loop_.at(*due, [this] { tick(); });
}

void UmadPort::tick() {
    UmadEngine::Actions actions;
    {
        const std::scoped_lock lock(mutex_);
        engine_.tick(loop_.now(), actions);
    }
    carry_out(std::move(actions));
    arm();
}

}  // namespace verbline::verbs
