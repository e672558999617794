// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The shard's end of a ShardLink, held by a test.

#include <optional>

#include <rte_mbuf.h>

#include "control/router/shard_link.h"

namespace verbline::test {

/// The next command that is a `T`; others before it are let pass.
template <class T>
std::optional<T> next(router::ShardLink& link) {
    while (const auto command = link.commands().pop()) {
        if (const auto* wanted = std::get_if<T>(&*command)) return *wanted;
        if (const auto* transmit = std::get_if<router::Transmit>(&*command)) rte_pktmbuf_free(transmit->packet);
        if (const auto* deliver = std::get_if<router::Deliver>(&*command)) rte_pktmbuf_free(deliver->packet);
    }
    return std::nullopt;
}

inline void forget_commands(router::ShardLink& link) {
    while (const auto transmit = next<router::Transmit>(link)) rte_pktmbuf_free(transmit->packet);
}

}  // namespace verbline::test
