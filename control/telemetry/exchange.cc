// SPDX-License-Identifier: BSD-3-Clause
#include "control/telemetry/exchange.h"

#include <algorithm>
#include <utility>

namespace verbline::telemetry {

std::shared_ptr<const Json> Exchange::ask(std::string_view table, std::size_t first) {
    std::unique_lock lock(mutex_);
    const auto index = find(table);
    if (closed_ || !index) return nullptr;
    if (const auto kept = kept_.find(*index); first != 0 && kept != kept_.end()) return kept->second;

    const auto question = std::make_shared<Question>();
    execute_([self = shared_from_this(), question, at = *index] { self->serve(at, *question); });
    changed_.wait_for(lock, limit_, [&] { return question->answer != nullptr || closed_; });
    if (question->answer) kept_[*index] = question->answer;
    return question->answer;
}

void Exchange::finished(std::string_view table) {
    const std::lock_guard lock(mutex_);
    if (const auto index = find(table)) kept_.erase(*index);
}

void Exchange::serve(std::size_t table, Question& question) {
    if (closed_) return;  // only this thread closes: no lock is needed to look
    auto rows = std::make_shared<const Json>(tables_[table].query());
    const std::lock_guard lock(mutex_);
    question.answer = std::move(rows);
    changed_.notify_all();
}

void Exchange::close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    tables_.clear();  // queries refer to objects that are about to go
    execute_ = nullptr;
    kept_.clear();
    changed_.notify_all();
}

std::optional<std::size_t> Exchange::find(std::string_view table) const {
    const auto found = std::ranges::find(tables_, table, &Table::name);
    if (found == tables_.end()) return std::nullopt;
    return static_cast<std::size_t>(found - tables_.begin());
}

}  // namespace verbline::telemetry
