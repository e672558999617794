// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A session as its user holds it.

#include <memory>
#include <utility>

#include "control/cm/endpoint.h"
#include "control/cm/session.h"

namespace verbline::cm {

class Core;

class SessionEndpoint final : public Endpoint {
public:
    SessionEndpoint(std::shared_ptr<Core> core, Reference<Session> session)
        : core_(std::move(core)), session_(std::move(session)) {}
    ~SessionEndpoint() override;

    CommunicationId local_id() const override { return CommunicationId{session_->id()}; }
    CommunicationId remote_id() const override { return session_->remote_id(); }
    State state() const override { return session_->state(); }
    std::optional<Event> poll(Time now) override;
    Result<void> reply(const Reply& reply, Time now) override;
    Result<void> ready_to_use(const PrivateData& private_data, Time now) override;
    Result<void> reject(const Rejection& rejection, Time now) override;
    Result<void> decline(const Rejection& rejection, Time now) override;
    Result<void> decline(const ServiceReply& reply, Time now) override;
    Result<void> delay(std::uint8_t service_timeout, const PrivateData& private_data, Time now) override;
    Result<void> established(Time now) override;
    Result<void> disconnect(const PrivateData& private_data, Time now) override;
    Result<void> load_alternate(const Path& alternate, const PrivateData& private_data, Time now) override;
    Result<void> reply_alternate(const AlternateReply& reply, Time now) override;
    Result<void> respond(const ServiceReply& reply, Time now) override;

private:
    std::shared_ptr<Core> core_;  ///< outlives the session
    Reference<Session> session_;
};

}  // namespace verbline::cm
