// SPDX-License-Identifier: BSD-3-Clause
#include "control/gateway/decorated_device.h"

#include <utility>

#include "pmd/base/clock.h"

namespace verbline::gateway {

DecoratedDevice::DecoratedDevice(std::string name, std::shared_ptr<pmd::NetDevice> device, pmd::CaptureFile* all)
    : name_(std::move(name)), device_(std::move(device)), all_(all) {
    stack();
}

DecoratedDevice::~DecoratedDevice() = default;

/// Of captures that go on, counters and interfaces in their files do so, too.
void DecoratedDevice::stack() {
    top_ = impaired_ ? impaired_ : device_;
    const auto capture = [this](std::shared_ptr<pmd::CapturedDevice>& captured, pmd::CaptureFile* file) {
        if (file == nullptr) return captured.reset();
        captured = captured ? std::make_shared<pmd::CapturedDevice>(top_, *captured)
                            : std::make_shared<pmd::CapturedDevice>(top_, name_, *file, utc_now);
        top_ = captured;
    };
    capture(all_captured_, all_);
    capture(captured_, file_.get());
}

void DecoratedDevice::replace(const std::optional<Shards>& shards, std::shared_ptr<pmd::CaptureFile> old_file) {
    auto old = top_;
    stack();
    if (!shards) return;
    const auto& links = shards->links;
    auto& gone = retired_.emplace_back(std::move(old_file), std::move(old),
                                       std::make_unique<std::atomic<std::size_t>>(links.size()));
    shards->links.send(router::SetDevice{shards->port, top_.get(), gone.left.get()});
}

void DecoratedDevice::impair(const std::optional<pmd::ImpairSpec>& spec, const std::optional<Shards>& shards) {
    impairment_ends_ = !spec && impaired_;
    if (impaired_) return impaired_->set(spec.value_or(pmd::ImpairSpec{}));
    if (!spec) return;
    impaired_ = std::make_shared<pmd::ImpairedDevice>(device_, *spec, monotonic_now);
    replace(shards, file_);
}

void DecoratedDevice::capture(std::unique_ptr<pmd::CaptureFile> file, const std::optional<Shards>& shards) {
    if (!file && !file_) return;
    captured_.reset();
    auto old = std::exchange(file_, std::move(file));
    replace(shards, std::move(old));
}

void DecoratedDevice::upkeep(const Shards& shards) {
    if (file_) (void)file_->drain();
    while (!retired_.empty() && retired_.front().left->load(std::memory_order_acquire) == 0) retired_.pop_front();
    if (!impairment_ends_ || !impaired_->settled()) return;
    impairment_ends_ = false;
    impaired_.reset();
    replace(shards, file_);
}

}  // namespace verbline::gateway
