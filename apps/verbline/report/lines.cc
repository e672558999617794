// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/report/lines.h"

#include <algorithm>
#include <map>

namespace verbline::report {
namespace {

double median(const std::vector<double>& sorted) {
    const auto half = sorted.size() / 2;
    return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

Point point(double x, std::vector<double> values) {
    std::ranges::sort(values);
    Point made{.x = x, .y = median(values)};
    if (values.size() > 1) made.low = values.front(), made.high = values.back();
    return made;
}

struct Line {
    Parameters parameters;
    std::map<double, std::vector<double>> values;  ///< by place
};

/// In the order in which they first appear.
std::vector<Line> lines_of(const std::vector<Sample>& samples) {
    std::vector<Line> lines;
    for (const auto& sample : samples) {
        auto line = std::ranges::find(lines, sample.parameters, &Line::parameters);
        if (line == lines.end()) line = lines.insert(line, {.parameters = sample.parameters, .values = {}});
        line->values[sample.x].push_back(sample.y);
    }
    return lines;
}

std::vector<Line> drawn_lines(const std::vector<Sample>& samples) {
    auto lines = lines_of(samples);
    std::erase_if(lines, [](const Line& line) { return line.values.size() < 2; });
    return lines;
}

/// Whether all of `others` have it with the same value.
bool everywhere(const Parameters::value_type& parameter, const std::vector<Line>& others) {
    return std::ranges::all_of(others, [&](const Line& other) {
        return std::ranges::find(other.parameters, parameter) != other.parameters.end();
    });
}

void append(std::string& list, const std::string& item) {
    if (item.empty()) return;
    list += (list.empty() ? "" : ", ") + item;
}

std::string name_of(const Line& line, const std::vector<Line>& lines, const std::string& only) {
    std::string name;
    for (const auto& parameter : line.parameters)
        if (!everywhere(parameter, lines)) append(name, parameter.second);
    return name.empty() ? only : name;
}

std::vector<Series> series_of(const std::vector<Line>& lines, const std::string& only) {
    std::vector<Series> all;
    for (const auto& line : lines) {
        Series series{.name = name_of(line, lines, only), .points = {}};
        for (const auto& [x, values] : line.values) series.points.push_back(point(x, values));
        all.push_back(std::move(series));
    }
    return all;
}

}  // namespace

std::vector<Series> merge(const std::vector<Sample>& samples, const std::string& only) {
    return series_of(drawn_lines(samples), only);
}

std::string in_common(const std::vector<Sample>& samples) {
    const auto lines = drawn_lines(samples);
    std::string list;
    if (lines.empty()) return list;
    for (const auto& parameter : lines.front().parameters)
        if (everywhere(parameter, lines)) append(list, parameter.second);
    return list.empty() ? "" : "All: " + list + ".";
}

}  // namespace verbline::report
