// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/umad/service.h"

#include <cerrno>
#include <future>
#include <utility>

#include "apps/libibverbs/port/process.h"
#include "apps/libibverbs/settings/fabric_port.h"
#include "pmd/base/free_descriptors.h"

namespace verbline::verbs {

Result<std::unique_ptr<UmadService>> UmadService::start(Process& process, std::function<void()> asked) {
    const auto* const devices = process.devices();
    if (devices == nullptr) return failure(errno, "the settings cannot be understood");
    auto loop = control::Loop::create();
    if (!loop) return std::unexpected(loop.error());
    std::unique_ptr<UmadService> service(new UmadService(process));
    service->loop_ = std::move(*loop);
    service->ports_.resize(devices->size());
    service->asked_ = EventDescriptor::make();
    if (!service->asked_) return no_descriptors(errno, "umad");
    auto watch =
        service->loop_->watch(service->asked_.get(), [raw = service.get(), act = std::move(asked)](std::uint32_t) {
            raw->asked_.drain();
            act();
        });
    if (!watch) return std::unexpected(watch.error());
    service->watch_ = std::move(*watch);
    auto thread = QuietThread::start([raw = service->loop_.get()] { raw->run(); });
    if (!thread) return std::unexpected(thread.error());
    service->thread_ = std::move(*thread);
    return service;
}

void UmadService::run_there(const std::function<void()>& task) {
    std::promise<void> done;
    loop_->post([&] {
        task();
        done.set_value();
    });
    done.get_future().wait();
}

Result<std::shared_ptr<UmadPort>> UmadService::port(unsigned index) {
    if (index >= ports_.size() || !thread_.joinable()) return failure(ENXIO, "no such device");
    auto& port = ports_[index];
    if (port != nullptr) return port;
    const auto& link = process_.link(index);
    auto made = std::make_shared<UmadPort>(*loop_, fabric_of(link).has_value());
    Result<void> started;
    run_there([&] {
        started = made->start(link, [this, index] { return process_.open((*process_.devices())[index].abi); });
    });
    if (!started) return std::unexpected(started.error());
    return port = std::move(made);
}

void UmadService::stop() {
    if (loop_ != nullptr) loop_->stop();
    if (thread_.joinable()) thread_.join();
    for (const auto& port : ports_)
        if (port != nullptr) port->stop();
}

}  // namespace verbline::verbs
