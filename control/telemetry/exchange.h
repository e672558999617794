// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Passes queries from telemetry threads to the control thread, and the answers back.
///
/// Reference-counted: held by the server on the control thread and by every waiting or queued query, so that it
/// outlives them all. `closed_` changes and queries run only on the control thread.

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

    /// Telemetry threads. Returns the table's rows; for `first` > 0 they may be those kept from an earlier query. Null:
    /// no such table, no answer in time, or the server has ended.
    std::shared_ptr<const Json> ask(std::string_view table, std::size_t first);
    /// Telemetry threads. The last page has been sent: frees the rows kept for further pages.
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
