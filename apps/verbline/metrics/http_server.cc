// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/metrics/http_server.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <exception>
#include <string_view>
#include <utility>

#include <microhttpd.h>
#include <netinet/in.h>

#include <arpa/inet.h>
#include <fmt/format.h>

namespace verbline::metrics {
namespace {

constexpr unsigned idle_seconds = 10, connections = 32;

MHD_Result answer(MHD_Connection* connection, unsigned status, const std::string& type, const std::string& body) {
    auto* const response =
        MHD_create_response_from_buffer(body.size(), const_cast<char*>(body.data()), MHD_RESPMEM_MUST_COPY);
    if (response == nullptr) return MHD_NO;
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type.c_str());
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED) MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    const auto queued = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return queued;
}

/// No exception may reach the library, which is in C.
MHD_Result respond(void* context, MHD_Connection* connection, const char* url, const char* method,
                   const char* /*version*/, const char* /*upload*/, std::size_t* upload_size, void** /*state*/) {
    const std::string plain = "text/plain; charset=utf-8";
    if (*upload_size != 0) return MHD_NO;
    try {
        const auto& page = *static_cast<HttpServer::Page*>(context);
        const std::string_view verb = method;
        if (verb != MHD_HTTP_METHOD_GET && verb != MHD_HTTP_METHOD_HEAD)
            return answer(connection, MHD_HTTP_METHOD_NOT_ALLOWED, plain, "GET it\n");
        if (url == page.path) return answer(connection, MHD_HTTP_OK, page.type, page.body());
        if (std::string_view(url) == "/") return answer(connection, MHD_HTTP_OK, plain, page.path + "\n");
        return answer(connection, MHD_HTTP_NOT_FOUND, plain, fmt::format("there is {} alone\n", page.path));
    } catch (const std::exception& problem) {
        return answer(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, plain, std::string(problem.what()) + "\n");
    }
}

std::unexpected<Error> no_endpoint(const std::string& text) {
    return failure(EINVAL, text + " is no address and port such as 127.0.0.1:9464, [::1]:9464, or :9464 for all");
}

}  // namespace

Result<Endpoint> parse_endpoint(const std::string& text) {
    const auto colon = text.rfind(':');
    if (colon == text.npos) return no_endpoint(text);
    auto host = text.substr(0, colon);
    const auto number = std::string_view(text).substr(colon + 1);
    std::uint16_t port = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), port);
    if (error != std::errc() || end != number.data() + number.size()) return no_endpoint(text);
    const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
    if (bracketed) host = host.substr(1, host.size() - 2);

    Endpoint endpoint;
    if (auto* const v4 = reinterpret_cast<sockaddr_in*>(&endpoint.address);
        !bracketed && inet_pton(AF_INET, host.c_str(), &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET, v4->sin_port = htons(port), endpoint.size = sizeof *v4;
        return endpoint;
    }
    auto* const v6 = reinterpret_cast<sockaddr_in6*>(&endpoint.address);
    if (!host.empty() && (!bracketed || inet_pton(AF_INET6, host.c_str(), &v6->sin6_addr) != 1))
        return no_endpoint(text);
    v6->sin6_family = AF_INET6, v6->sin6_port = htons(port), endpoint.size = sizeof *v6;
    return endpoint;
}

void HttpServer::Stop::operator()(MHD_Daemon* daemon) const {
    MHD_stop_daemon(daemon);
}

Result<HttpServer> HttpServer::start(const Endpoint& endpoint, const std::string& text, Page page) {
    HttpServer server;
    server.page_ = std::make_unique<Page>(std::move(page));
    unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD;
    if (endpoint.address.ss_family == AF_INET6) flags |= MHD_USE_DUAL_STACK;
    errno = 0;
    server.daemon_.reset(MHD_start_daemon(flags, 0, nullptr, nullptr, respond, server.page_.get(), MHD_OPTION_SOCK_ADDR,
                                          &endpoint.address, MHD_OPTION_CONNECTION_TIMEOUT, idle_seconds,
                                          MHD_OPTION_CONNECTION_LIMIT, connections, MHD_OPTION_END));
    if (server.daemon_ == nullptr) {
        const int reason = errno != 0 ? errno : EIO;
        return failure(reason, fmt::format("cannot listen on {}: {}", text, std::strerror(reason)));
    }
    return server;
}

std::uint16_t HttpServer::port() const {
    const auto* const info = MHD_get_daemon_info(daemon_.get(), MHD_DAEMON_INFO_BIND_PORT);
    return info != nullptr ? info->port : 0;
}

}  // namespace verbline::metrics
