// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/objects/context.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "apps/libibverbs/objects/queue_pair.h"
#include "pmd/base/free_descriptors.h"

namespace verbline::verbs {

Context::Context(ibv_device& device, VerbsPort& port, ProgramDescriptor command, EventSemaphore events)
    : port_(port), command_(std::move(command)), events_(std::move(events)) {
    handle_.object = this;
    auto& verbs = handle_.abi;
    verbs.sz = sizeof(verbs_context);
    set_operations(verbs);
    auto& context = verbs.context;
    context.device = &device;
    context.abi_compat = __VERBS_ABI_IS_EXTENDED;
    context.cmd_fd = command_.programs();
    context.async_fd = events_.descriptor();
    context.num_comp_vectors = 1;
    pthread_mutex_init(&context.mutex, nullptr);
    port.listen(0, this, [this](const transport::AsyncEvent& event) {
        ibv_async_event reported{};
        reported.element.port_num = 1;
        reported.event_type = static_cast<ibv_event_type>(event.kind);
        events_.push(reported);
    });
}

Result<std::unique_ptr<Context>> Context::open(ibv_device& device, VerbsPort& port) {
    // Programs pass copies of the command descriptor to each other (ibv_import_device): a file of its own identifies
    // the context.
    ProgramDescriptor command(FileDescriptor(memfd_create("verbline", MFD_CLOEXEC)));
    auto events = EventSemaphore::make();
    if (!command || !events) return no_descriptors(errno);
    return std::unique_ptr<Context>(new Context(device, port, std::move(command), std::move(events)));
}

Context::~Context() {
    port_.stop_listening(0, this);
    pthread_mutex_destroy(&handle_.abi.context.mutex);
}

void Context::add(VerbsQueuePair& pair) {
    const std::scoped_lock lock(pairs_mutex_);
    pairs_.insert(&pair);
}

void Context::remove(VerbsQueuePair& pair) {
    const std::scoped_lock lock(pairs_mutex_);
    pairs_.erase(&pair);
}

void Context::close() {
    {
        const std::scoped_lock lock(pairs_mutex_);
        for (auto* const pair : pairs_) pair->silence();
    }
    port_.stop_listening(0, this);
    events_.close();
    command_ = {};
}

bool Context::is_behind(int cmd_fd) const {
    struct stat ours{}, theirs{};
    return fstat(command_.ours(), &ours) == 0 && fstat(cmd_fd, &theirs) == 0 && ours.st_dev == theirs.st_dev &&
           ours.st_ino == theirs.st_ino;
}

Context& Context::of(ibv_context* context) {
    auto* const bytes = reinterpret_cast<std::byte*>(context) - offsetof(verbs_context, context);
    return *reinterpret_cast<Abi*>(bytes)->object;
}

}  // namespace verbline::verbs
