// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Serves one page over HTTP, by libmicrohttpd: GET of `path`; `/` names it, all else is not found.

#include <functional>
#include <memory>
#include <string>

#include <sys/socket.h>

#include "pmd/base/error.h"

struct MHD_Daemon;

namespace verbline::metrics {

/// An address to listen on.
struct Endpoint {
    sockaddr_storage address{};
    socklen_t size = 0;
};
/// "127.0.0.1:9464", "[::1]:9464", ":9464" for all addresses. EINVAL: it is none.
Result<Endpoint> parse_endpoint(const std::string& text);

class HttpServer {
public:
    struct Page {
        std::string path, type;             ///< "/metrics"; its MIME type
        std::function<std::string()> body;  ///< called for each request, by the server's thread, one at a time
    };

    /// Listens, and serves by a thread of its own until it is destroyed. `text` is the endpoint, for the error.
    static Result<HttpServer> start(const Endpoint& endpoint, const std::string& text, Page page);

    /// The port that it listens on, also where 0 was asked for.
    std::uint16_t port() const;

private:
    struct Stop {
        void operator()(MHD_Daemon* daemon) const;
    };

    std::unique_ptr<Page> page_;  ///< outlives the daemon, which has its address
    std::unique_ptr<MHD_Daemon, Stop> daemon_;
};

}  // namespace verbline::metrics
