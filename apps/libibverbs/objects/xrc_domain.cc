// SPDX-License-Identifier: BSD-3-Clause
#include <map>
#include <mutex>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>

#include "apps/libibverbs/objects/shared_receive_queue.h"

namespace verbline::verbs {
namespace {

/// Which file a domain belongs to; both zero: to none.
using File = std::pair<dev_t, ino_t>;

struct OpenDomain {
    XrcDomain* domain = nullptr;
    File file{};
    unsigned openings = 1;
};

struct OpenDomains {
    std::mutex mutex;
    std::map<ibv_xrcd*, OpenDomain> all;

    static OpenDomains& get() {
        static auto* const domains = new OpenDomains;
        return *domains;
    }
};

Result<File> file_of(int descriptor) {
    struct stat status{};
    if (fstat(descriptor, &status) != 0) return failure(errno, "the XRC domain's file");
    return File{status.st_dev, status.st_ino};
}

OpenDomain* find(OpenDomains& domains, const Context& context, const File& file) {
    for (auto& [abi, open] : domains.all) {
        if (open.file == file && &Context::of(abi->context).port() == &const_cast<Context&>(context).port())
            return &open;
    }
    return nullptr;
}

/// The domain of the file, which this process has not open.
Result<XrcDomain*> make(Context& context, int descriptor, int flags) {
    const bool create = (flags & O_CREAT) != 0;
    auto& sharing = context.port().xrc();
    if (descriptor != -1 && sharing.available()) {
        const auto shared = sharing.open_domain(descriptor, {.create = create, .exclusive = (flags & O_EXCL) != 0});
        if (!shared) return std::unexpected(shared.error());
        return new XrcDomain(context, *shared);
    }
    if (!create) return failure(descriptor == -1 ? EINVAL : EAGAIN, "there is no such domain");
    return new XrcDomain(context, context.device().create_xrc_domain());
}

}  // namespace

ibv_xrcd* open_xrcd(ibv_context* context, ibv_xrcd_init_attr* attributes) {
    return made([&] -> Result<ibv_xrcd*> {
        constexpr std::uint32_t needed = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
        if (attributes->comp_mask != needed) return failure(EINVAL, "attributes");
        if ((attributes->oflags & ~(O_CREAT | O_EXCL)) != 0) return failure(EINVAL, "flags");
        auto& opened = Context::of(context);
        if (!opened.alive()) return failure(EIO, "the context is that of a parent process");
        File file{};
        if (attributes->fd != -1) {
            const auto named = file_of(attributes->fd);
            if (!named) return std::unexpected(named.error());
            file = *named;
        }
        auto& domains = OpenDomains::get();
        const std::scoped_lock lock(domains.mutex);
        if (attributes->fd != -1) {
            if (auto* const known = find(domains, opened, file)) {
                if ((attributes->oflags & O_EXCL) != 0) return failure(EINVAL, "the domain exists");
                ++known->openings;
                return known->domain->abi();
            }
        }
        const auto domain = make(opened, attributes->fd, attributes->oflags);
        if (!domain) return std::unexpected(domain.error());
        domains.all[(*domain)->abi()] = {*domain, file};
        return (*domain)->abi();
    });
}

int close_xrcd(ibv_xrcd* abi) {
    if (!Context::of(abi->context).alive()) return 0;
    auto& domains = OpenDomains::get();
    const std::scoped_lock lock(domains.mutex);
    const auto found = domains.all.find(abi);
    if (found == domains.all.end()) return EINVAL;
    if (found->second.openings > 1) return --found->second.openings, 0;
    auto* const domain = found->second.domain;
    if (domain->users != 0) return EBUSY;
    if (domain->shared() != nullptr) Context::of(abi->context).port().xrc().close_domain(*domain->shared());
    delete domain;
    domains.all.erase(found);
    return 0;
}

}  // namespace verbline::verbs
