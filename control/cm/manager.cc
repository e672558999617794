// SPDX-License-Identifier: BSD-3-Clause
#include "control/cm/manager.h"

#include <tuple>
#include <utility>

#include "control/cm/core.h"

namespace verbline::cm {

namespace {

class CoreManager final : public Manager {
public:
    CoreManager(Options options, mad::GmpChannel& channel)
        : core_(std::make_shared<Core>(std::move(options), channel)) {}
    ~CoreManager() override { core_->close(); }

    Result<EndpointPointer> connect(const Request& request, Time now) override { return core_->connect(request, now); }
    Result<EndpointPointer> resolve(const ServiceRequest& request, Time now) override {
        return core_->resolve(request, now);
    }
    Result<EndpointPointer> listen(wire::CmServiceId service, std::uint64_t mask, Time now) override {
        return core_->listen(service, mask, now);
    }
    void receive(std::span<const mad::GmpArrival> burst, Time now) override { core_->receive(burst, now); }
    void tick(Time now) override { core_->tick(now); }
    std::optional<Time> deadline() const override { return core_->timers().deadline(); }
    void repeat_disconnects(Time now) override {
        for (const auto& session : core_->sessions().all()) {
            if (session->state() != State::dreq_sent) continue;
            std::ignore = session->step<Connection>(now, [](Connection& connection, Turn& turn) {
                connection.repeat_disconnect(turn);
                return Result<void>();
            });
        }
    }
    std::size_t size() const override { return core_->sessions().size(); }
    void counters(const CounterVisitor& visit) const override {
        core_->counters().each(visit);
        visit("half_open", core_->half_open().taken(), "requests of peers half open now");
        visit("closing", core_->closing().taken(), "dropped endpoints that still close, or refuse what comes again");
    }

    std::vector<Shown> show() const override {
        std::vector<Shown> rows;
        for (const auto& session : core_->sessions().all()) rows.push_back(session->shown());
        return rows;
    }

private:
    std::shared_ptr<Core> core_;
};

}  // namespace

std::unique_ptr<Manager> Manager::create(Options options, mad::GmpChannel& channel) {
    return std::make_unique<CoreManager>(std::move(options), channel);
}

}  // namespace verbline::cm
