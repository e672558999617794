// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Those who observe an event: any number, each for as long as it keeps what `add` returns.

#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace verbline::sa {

/// Ends the observation when it is destroyed; may outlive what is observed.
using Observation = std::shared_ptr<const void>;

/// One thread. Observers may be added and removed while they are called.
template <class... Arguments>
class Observers {
public:
    using Observer = std::function<void(const Arguments&...)>;

    [[nodiscard]] Observation add(Observer observer) {
        auto kept = std::make_shared<const Observer>(std::move(observer));
        observers_.push_back(kept);
        return kept;
    }

    void notify(const Arguments&... arguments) {
        std::erase_if(observers_, [](const auto& each) { return each.expired(); });
        for (const auto& each : std::vector(observers_)) {
            if (const auto observer = each.lock()) (*observer)(arguments...);
        }
    }

private:
    std::vector<std::weak_ptr<const Observer>> observers_;
};

}  // namespace verbline::sa
