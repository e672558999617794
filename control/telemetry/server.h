// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Tables of this process on the DPDK telemetry socket, as commands `/verbline/<table>[,OFFSET]`.
///
/// DPDK serves its socket from its own threads, while the data belongs to the control thread. A callback therefore
/// posts the table's query to the control thread and waits for the rows.
///
///     telemetry thread                         control thread
///     /verbline/ports  ──── execute(query) ──>  query(): rows
///     reply         <──── rows, or time out ────┘
///
/// A reply is an object of rows, {"0": {...}, "1": {...}}, keyed by row number: DPDK 22.11 nests objects in no other
/// way. It holds as many rows as fit; the next page is requested by the number of the first missing row, and
/// an empty object ends the table. Pages are cut from the rows as of the request for page 0. A null reply
/// means that the control thread did not answer in time, or that the server has ended.
///
/// Threads: construct and destroy on the control thread. Destruction wakes callbacks that wait, drops their queries
/// unrun, and every later request is answered by null.

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "pmd/base/error.h"

namespace verbline::telemetry {

using Json = nlohmann::ordered_json;  ///< keeps the order of columns

struct Table {
    std::string name;             ///< letters, digits and '_'
    std::string help;             ///< one line, shown by DPDK's `/help,/verbline/<name>`
    std::function<Json()> query;  ///< on the control thread: an array of flat objects, or one flat object
};

/// Posts the task to the control thread; must not run it within the call. Callable from any thread.
using Executor = std::function<void(std::function<void()>)>;

class Exchange;

class Server {
public:
    /// DPDK can hold one set of callbacks per process, hence one server at a time: EBUSY for a second.
    /// May be called before or after rte_eal_init.
    static Result<Server> open(std::vector<Table> tables, Executor execute,
                               std::chrono::milliseconds answer_limit = std::chrono::seconds(1));
    Server(Server&&) = default;
    Server& operator=(Server&&) = delete;
    ~Server();

private:
    explicit Server(std::shared_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}

    std::shared_ptr<Exchange> exchange_;
};

}  // namespace verbline::telemetry
