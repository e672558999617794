// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/report/page.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "apps/verbline/report/figures.h"
#include "apps/verbline/report/records.h"

namespace verbline::report {
namespace {

template <class Kind>
std::vector<Kind> all_of(const std::vector<Measurement>& measurements) {
    std::vector<Kind> found;
    for (const auto& measurement : measurements)
        if (const auto* const one = std::get_if<Kind>(&measurement)) found.push_back(*one);
    return found;
}

void append(std::vector<Figure>& figures, std::vector<Figure> more) {
    std::ranges::move(more, std::back_inserter(figures));
}

std::string replaced(std::string_view text, std::initializer_list<std::pair<char, std::string_view>> replacements) {
    std::string out;
    out.reserve(text.size());
    for (const char c : text) {
        const auto* const found = std::ranges::find(replacements, c, &std::pair<char, std::string_view>::first);
        if (found == replacements.end())
            out += c;
        else
            out += found->second;
    }
    return out;
}

}  // namespace

Page make_page(const std::vector<Measurement>& measurements, std::string title, std::string made_by) {
    Page page{.title = std::move(title), .made_by = std::move(made_by)};
    for (const auto& measurement : measurements)
        page.files.push_back(std::visit([](const auto& one) { return one.file; }, measurement));
    const auto packet_runs = all_of<PacketRun>(measurements);
    const auto rdma_runs = all_of<RdmaRun>(measurements);
    const auto ipoib_runs = all_of<IpoibRun>(measurements);
    if (!packet_runs.empty()) page.results.push_back(packet_results(packet_runs));
    if (!rdma_runs.empty()) page.results.push_back(rdma_results(rdma_runs));
    if (!ipoib_runs.empty()) page.results.push_back(ipoib_results(ipoib_runs));
    append(page.figures, packet_figures(packet_runs));
    append(page.figures, latency_figures(packet_runs));
    append(page.figures, queue_figures(packet_runs));
    append(page.figures, rdma_figures(rdma_runs));
    append(page.figures, ipoib_figures(ipoib_runs));
    append(page.figures, comparison_figures(all_of<Comparison>(measurements)));
    append(page.figures, history_figures(all_of<History>(measurements)));
    page.records = records(measurements);
    return page;
}

std::string embedded_json(const Json& value) {
    // In JSON these three stand inside of strings only.
    return replaced(value.dump(-1, ' ', false, Json::error_handler_t::replace),
                    {{'<', "\\u003c"}, {'>', "\\u003e"}, {'&', "\\u0026"}});
}

std::string escaped(std::string_view text) {
    return replaced(text, {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}});
}

std::string to_html(const Page& page, const Assets& assets) {
    const auto policy =
        fmt::format("default-src 'none'; script-src '{}' '{}'; style-src '{}'; base-uri 'none'; form-action 'none'",
                    assets.library_hash, assets.script_hash, assets.style_hash);
    const auto json = to_json(page);
    std::string out = fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n<title>{}</title>\n",
        policy, escaped(page.title));
    out += fmt::format("<style>{}</style>\n</head>\n<body>\n", assets.style);
    out +=
        "<noscript>The plots of this page are drawn by a script inside of it. Its data is JSON, in the element "
        "with the id data.</noscript>\n<main id=\"page\"></main>\n";
    out += fmt::format("<script type=\"application/json\" id=\"data\">{}</script>\n", embedded_json(json));
    out += fmt::format("<!--\n{}\n-->\n<script>{}</script>\n", assets.licence, assets.library);
    out += fmt::format("<script>{}</script>\n</body>\n</html>\n", assets.script);
    return out;
}

}  // namespace verbline::report
