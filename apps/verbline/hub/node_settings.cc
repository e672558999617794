// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/hub/node_settings.h"

#include <cerrno>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace verbline::cli {

NodeSettings::NodeSettings(const HubOptions& now, SharedPort& port, hub::Server& server)
    : name_(now.name),
      port_(port),
      server_(server),
      access_(now.access),
      quotas_(now.quotas),
      addresses_(now.node->addresses) {}

Result<std::string> NodeSettings::change_to(const HubOptions& wanted) {
    const auto& addresses = wanted.node->addresses;
    if (auto good = may_change_to(addresses); !good) return std::unexpected(good.error());
    std::vector<std::string_view> changed;
    if (wanted.access != access_) {
        const auto opened = hub::open_to(name_, wanted.access.value_or(hub::no_access));
        if (!opened) return std::unexpected(opened.error());
        changed.emplace_back("who may join");
    }
    if (addresses != addresses_) {
        port_.set_addresses(addresses);
        changed.emplace_back("addresses");
    }
    if (wanted.quotas != quotas_) {
        server_.registry().set_quotas(wanted.quotas);
        changed.emplace_back("limits");
    }
    access_ = wanted.access;
    addresses_ = addresses;
    quotas_ = wanted.quotas;
    return changed.empty() ? "nothing to change" : fmt::format("{} changed", fmt::join(changed, ", "));
}

Result<void> NodeSettings::may_change_to(const Addresses& wanted) const {
    if (wanted == addresses_ || (port_.has_own_addresses() && !wanted.empty())) return {};
    return failure(EBUSY,
                   "while it runs, --ip can change only on Ethernet, and where it was given before: nothing of "
                   "the file is used until it is restarted");
}

}  // namespace verbline::cli
