// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Where a telemetry thread's question meets the control thread's answer.
///
/// Shared by both: the server on the control thread holds one reference, and so does whatever is still waiting or
/// queued; that is why neither can outlive it. `closed` changes and queries run only on the control thread.

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/telemetry/server.h"

namespace verbline::telemetry {

class Exchange : public std::enable_shared_from_this<Exchange> {
public:
    Exchange(std::vector<Table> tables, Executor execute, std::chrono::milliseconds limit)
        : tables_(std::move(tables)), execute_(std::move(execute)), limit_(limit) {}

    /// Telemetry threads. The table's rows; from `first` on they may come from an earlier question. Nothing when there
    /// is no such table, no answer in time, or no server any more.
    std::shared_ptr<const Json> ask(std::string_view table, std::size_t first);
    /// Telemetry threads. The last page has been sent: the rows kept for further pages can go.
    void finished(std::string_view table);
    /// Control thread.
    void close();

private:
    struct Question {
        std::shared_ptr<const Json> answer;
    };

    void serve(std::size_t table, Question& question);
    std::optional<std::size_t> find(std::string_view table) const;

    std::mutex mutex_;
    std::condition_variable changed_;  ///< an answer came, or `closed_`
    bool closed_ = false;
    std::vector<Table> tables_;
    Executor execute_;
    std::chrono::milliseconds limit_;
    std::map<std::size_t, std::shared_ptr<const Json>> kept_;  ///< rows of tables that take several pages
};

}  // namespace verbline::telemetry
