// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/report/read_file.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace verbline::report {
namespace {

constexpr std::size_t largest_file = std::size_t{64} << 20;
/// Our own files nest five deep. Deeper ones would be walked by recursion.
constexpr int deepest = 32;

/// Nothing: this is no JSON.
std::optional<Json> parse(std::string_view text) {
    bool too_deep = false;
    const auto watch = [&](int depth, Json::parse_event_t, Json&) {
        too_deep = too_deep || depth > deepest;
        return !too_deep;
    };
    auto document = Json::parse(text, watch, false);
    if (document.is_discarded() || too_deep) return std::nullopt;
    return document;
}

bool has(const Json& object, std::initializer_list<const char*> keys) {
    if (!object.is_object()) return false;
    for (const auto* const key : keys)
        if (!object.contains(key)) return false;
    return true;
}

bool is_past_run(const Json& document) {
    return has(document, {"when", "machine", "rows"});
}

/// An array of the objects of a file that has one in each line; nothing: one of them is none.
std::optional<Json> parse_lines(std::string_view text) {
    Json lines = Json::array();
    while (!text.empty()) {
        const auto end = text.find('\n');
        auto line = parse(text.substr(0, end));
        if (!line || !is_past_run(*line)) return std::nullopt;
        lines.push_back(std::move(*line));
        text = end == text.npos ? std::string_view() : text.substr(end + 1);
    }
    return lines;
}

bool is_packet_run(const Json& document) {
    return has(document, {"role", "frames", "result"});
}

/// The runs of a profile, each under a name of its own.
Result<std::vector<Measurement>> read_packet_runs(const std::string& file, const Json& documents) {
    std::vector<Measurement> runs;
    for (const auto& document : documents) {
        const auto name = document.is_object() ? document.find("run") : document.end();
        const bool named = name != document.end() && name->is_string();
        const auto label = named ? fmt::format("{}, run {}", file, name->get<std::string>()) : file;
        auto run = read_packet(label, document);
        if (!run) return std::unexpected(run.error());
        runs.push_back(std::move(*run));
    }
    return runs;
}

Result<std::vector<Measurement>> alone(Result<Measurement> read) {
    if (!read) return std::unexpected(read.error());
    return std::vector{std::move(*read)};
}

/// A file of one JSON document.
Result<std::vector<Measurement>> read_document(const std::string& file, const Json& document) {
    if (is_past_run(document)) return alone(read_history(file, Json::array({document})));
    if (is_packet_run(document)) return alone(read_packet(file, document));
    if (has(document, {"test_info"})) return alone(read_rdma(file, document));
    if (has(document, {"traffic", "results", "ratios"})) return alone(read_ipoib(file, document));
    const bool filled = document.is_array() && !document.empty();
    if (filled && is_packet_run(document.front())) return read_packet_runs(file, document);
    if (filled && has(document.front(), {"name", "unit", "ours"})) return alone(read_comparison(file, document));
    return failure(EINVAL,
                   fmt::format("{}: is JSON of another program; give what verbline bench packet, verbline bench "
                               "rdma, verbline bench ipoib or bench/compare wrote",
                               file));
}

}  // namespace

std::unexpected<Error> incomplete(const std::string& file, std::string_view problem, std::string_view writer) {
    return failure(EINVAL, fmt::format("{}: {}; write it again by {}", file, problem, writer));
}

Result<std::vector<Measurement>> read_text(const std::string& file, std::string_view text) {
    if (text.empty()) return failure(EINVAL, fmt::format("{}: is empty; did what writes it fail?", file));
    if (const auto document = parse(text)) return read_document(file, *document);
    const auto lines = parse_lines(text);
    if (!lines)
        return failure(EINVAL, fmt::format("{}: is no JSON; write it by --json of verbline bench or bench/compare, or "
                                           "by bench/compare --history",
                                           file));
    return alone(read_history(file, *lines));
}

Result<std::vector<Measurement>> read_file(const std::string& file) {
    const auto unreadable = [&] {
        return failure(errno, fmt::format("{}: {}; name a file that can be read", file, std::strerror(errno)));
    };
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> in(std::fopen(file.c_str(), "re"), std::fclose);
    if (!in) return unreadable();
    std::string text;
    std::array<char, std::size_t{1} << 16> part;
    while (const auto size = std::fread(part.data(), 1, part.size(), in.get())) {
        text.append(part.data(), size);
        if (text.size() > largest_file)
            return failure(EFBIG, fmt::format("{}: is above {} MB; leave out runs", file, largest_file >> 20));
    }
    // Such as a directory, which can be opened.
    if (std::ferror(in.get()) != 0) return unreadable();
    return read_text(file, text);
}

}  // namespace verbline::report
