// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Watches the kernel's interface below a port, and its addresses. A pulled cable is not reported here: it may come
/// back, and the port's state shows it.
///
///     ip address del, ip link del ──> host::InterfaceWatch ──> News: addresses now missing, or the interface
///
/// Threads: the one that runs the loop, on which the handler is called.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/libibverbs/link/link.h"
#include "control/host/interface_watch.h"
#include "control/loop/loop.h"
#include "datapath/wire/types.h"
#include "pmd/base/error.h"

namespace verbline::verbs {

class PortWatch {
public:
    struct News {
        std::vector<wire::Gid> missing{};  ///< of the addresses that the link had when it was opened
        std::optional<std::vector<InterfaceAddress>> present{};  ///< the kernel's now; none: not its own, or unknown
        std::optional<Error> gone{};  ///< why the link will not come back; reported once, as the last news
    };
    using Handler = std::function<void(const News&)>;

    /// `link` and `loop` outlive it.
    static Result<std::unique_ptr<PortWatch>> open(const OpenedLink& link, control::Loop& loop, Handler handler);
    PortWatch(const PortWatch&) = delete;
    PortWatch& operator=(const PortWatch&) = delete;

private:
    PortWatch(const OpenedLink& link, Handler handler) : link_(link), handler_(std::move(handler)) {}
    Result<void> watch_interface(control::Loop& loop);
    void look();
    void end(Error why);

    const OpenedLink& link_;
    const Handler handler_;
    std::vector<wire::Gid> missing_;  ///< as last reported
    std::vector<InterfaceAddress> present_{link_.addresses};
    std::optional<host::InterfaceWatch> interface_;
    control::Watch watch_;  ///< destroyed first
};

}  // namespace verbline::verbs
