// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What a page shows, independent of where it was measured and of how it is drawn.
///
/// The script in the page draws this and computes nothing but pixels: what is merged, binned, scaled or left out is
/// decided by the code that makes these structs, where unit tests see it.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace verbline::report {

using Json = nlohmann::ordered_json;  ///< keeps the order of keys

enum class Scale {
    linear,      ///< from 0
    log2,        ///< ticks at powers of two: sizes, numbers of flows
    log10,       ///< over several decades
    percentile,  ///< 50, 90, 99, 99.9, ...: each nine takes the same room
    category,    ///< a name for each place 0, 1, 2, ...
};

struct Axis {
    std::string title;  ///< with the unit
    Scale scale = Scale::linear;
    std::vector<std::string> categories;
};

struct Point {
    double x = 0;
    double y = 0;
    std::optional<double> low, high;  ///< the spread of what `y` is the middle of
    std::string label;                ///< figures as text, if `y` is not what was measured
};

struct Series {
    std::string name;
    std::vector<Point> points;
};

enum class Shape {
    lines,       ///< markers joined by a line
    bars,        ///< upright, on a category axis
    histogram,   ///< upright, each from the point's `low` to its `high` on the x axis
    comparison,  ///< lying: the first series beside the second, the third as marks across the first
};

/// A line across a panel.
struct Mark {
    std::string name;
    double value = 0;
    bool upright = false;  ///< at a value of the x axis
};

/// One drawing.
struct Panel {
    std::string title;  ///< empty: the figure's is enough
    Shape shape = Shape::lines;
    Axis x, y;
    std::vector<Series> series;
    std::vector<Mark> marks;
};

/// Cells are numbers, strings or null; rows are as long as `columns`.
struct Table {
    std::string title;
    std::vector<std::string> columns;
    std::vector<std::vector<Json>> rows;
};

/// The same without columns that are empty in every row.
Table without_empty_columns(Table table);

/// Drawings that belong together, and the numbers in them.
struct Figure {
    std::string id;  ///< a word, for links
    std::string title;
    std::string note;  ///< what a reader must know to read it
    std::vector<Panel> panels;
    Table table;
};

/// What is known of a machine, and of the files that were measured on it.
struct Record {
    std::string title;
    std::vector<Table> tables;
};

struct Page {
    std::string title;
    std::string made_by;
    std::vector<std::string> files;
    std::vector<Table> results;  ///< every measurement, also of what no figure shows
    std::vector<Figure> figures;
    std::vector<Record> records;
};

Json to_json(const Page& page);

/// A value axis for what is in `series`: of logarithms if the largest is far above the least, otherwise linear.
Scale value_scale(const std::vector<Series>& series);

}  // namespace verbline::report
