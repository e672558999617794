// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/instance/answering.h"

#include <utility>

namespace verbline::cli {

std::vector<Answering> answering_instances() {
    std::vector<Answering> answering;
    for (auto& instance : running_instances()) {
        auto client = TelemetryClient::connect(instance.socket, instance.trust);
        auto tables = client ? client->tables() : std::unexpected(client.error());
        if (tables) answering.push_back({std::move(instance), std::move(*client), std::move(*tables)});
    }
    return answering;
}

}  // namespace verbline::cli
