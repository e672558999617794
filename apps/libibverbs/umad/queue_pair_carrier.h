// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// MADs by QP1 of the port's RDMA device, which the first of them opens.

#include "apps/libibverbs/umad/carrier.h"
#include "control/loop/loop.h"
#include "control/mad/gsi.h"
#include "pmd/base/event_descriptor.h"

namespace verbline::verbs {

class VerbsPort;

class QueuePairCarrier final : public MadCarrier {
public:
    /// Opens the port; an error is the reason why it cannot be.
    using OpenPort = std::function<Result<VerbsPort*>()>;

    QueuePairCarrier(OpenPort open, control::Loop& loop, Received received)
        : open_(std::move(open)), loop_(loop), received_(std::move(received)) {}
    ~QueuePairCarrier() override;

    void send(const Transmission& transmission) override;
    void serve() override { std::ignore = ready(); }
    /// Opens what is needed. False: it cannot be, for a reason that has been printed.
    bool ready();

private:
    Result<void> start();
    void arrived(std::span<const mad::GmpArrival> burst);
    std::uint16_t index_of(wire::PKey pkey) const;

    const OpenPort open_;
    control::Loop& loop_;
    const Received received_;
    bool tried_ = false;
    VerbsPort* port_ = nullptr;
    mad::Gsi* gsi_ = nullptr;  ///< null: not ready
    EventDescriptor arrivals_;
    control::Watch watch_;
};

}  // namespace verbline::verbs
