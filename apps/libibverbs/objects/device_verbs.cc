// SPDX-License-Identifier: BSD-3-Clause
// Finding devices, opening and closing them.
#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

#include <endian.h>

#include <arpa/inet.h>

#include "apps/libibverbs/abi/unpublished.h"
#include "apps/libibverbs/objects/context.h"
#include "apps/libibverbs/port/process.h"

#undef ibv_get_device_list

namespace verbline::verbs {
namespace {

/// All that are open, for ibv_import_device.
struct OpenContexts {
    std::mutex mutex;
    std::vector<std::unique_ptr<Context>> list;

    static OpenContexts& get() {
        static auto* const contexts = new OpenContexts;
        return *contexts;
    }
    /// Closed contexts are freed when no object refers to them.
    void sweep() {
        std::erase_if(list, [](const auto& each) { return each->closed() && !each->held(); });
    }
};

Result<ibv_context*> open_device(ibv_device& device) {
    auto port = Process::get().open(device);
    if (!port) {
        complain(port.error());
        return std::unexpected(port.error());
    }
    auto context = Context::open(device, **port);
    if (!context) return std::unexpected(context.error());
    auto& contexts = OpenContexts::get();
    const std::scoped_lock lock(contexts.mutex);
    contexts.sweep();
    return contexts.list.emplace_back(std::move(*context))->abi();
}

}  // namespace

extern "C" {

ibv_device** ibv_get_device_list(int* count) {
    if (count != nullptr) *count = 0;
    return made([&]() -> Result<ibv_device**> {
        auto* const devices = Process::get().devices();
        if (devices == nullptr) return failure(errno, "the settings cannot be understood");
        auto list = std::make_unique<ibv_device*[]>(devices->size() + 1);
        std::ranges::transform(*devices, list.get(), [](auto& device) { return &device.abi; });
        if (count != nullptr) *count = static_cast<int>(devices->size());
        return list.release();
    });
}

void ibv_free_device_list(ibv_device** list) {
    delete[] list;
}

const char* ibv_get_device_name(ibv_device* device) {
    return device->name;
}

int ibv_get_device_index(ibv_device* device) {
    return static_cast<int>(reinterpret_cast<DeviceEntry*>(device)->index);
}

__be64 ibv_get_device_guid(ibv_device* device) {
    const auto guid = Process::get().guid(*device);
    return guid ? htobe64(static_cast<std::uint64_t>(*guid)) : 0;
}

ibv_context* ibv_open_device(ibv_device* device) {
    return made([&] { return open_device(*device); });
}

int ibv_close_device(ibv_context* abi) {
    auto& contexts = OpenContexts::get();
    const std::scoped_lock lock(contexts.mutex);
    auto& context = Context::of(abi);
    if (!context.alive() || !context.drop()) return 0;
    context.close();
    contexts.sweep();
    return 0;
}

ibv_context* ibv_import_device(int cmd_fd) {
    auto& contexts = OpenContexts::get();
    const std::scoped_lock lock(contexts.mutex);
    const auto found = std::ranges::find_if(contexts.list, [&](const auto& each) { return each->is_behind(cmd_fd); });
    if (found == contexts.list.end()) {
        errno = EINVAL;
        return nullptr;
    }
    (*found)->share();
    return (*found)->abi();
}

int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
    auto& opened = Context::of(context);
    if (opened.port().abandoned()) return errno = EIO, -1;  // the descriptor is shared with the parent
    opened.progress().leave();
    return opened.events().get(*event);
}

void ibv_ack_async_event(ibv_async_event* event) {
    // An event identifies its context only by the object that it names.
    ibv_context* context = nullptr;
    switch (event->event_type) {
        case IBV_EVENT_CQ_ERR: context = event->element.cq->context; break;
        case IBV_EVENT_SRQ_ERR:
        case IBV_EVENT_SRQ_LIMIT_REACHED: context = event->element.srq->context; break;
        case IBV_EVENT_QP_FATAL:
        case IBV_EVENT_QP_REQ_ERR:
        case IBV_EVENT_QP_ACCESS_ERR:
        case IBV_EVENT_COMM_EST:
        case IBV_EVENT_SQ_DRAINED:
        case IBV_EVENT_QP_LAST_WQE_REACHED: context = event->element.qp->context; break;
        default: return;
    }
    Context::of(context).events().acknowledge(*event);
}

}  // extern "C"

}  // namespace verbline::verbs
