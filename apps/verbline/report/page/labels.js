// SPDX-License-Identifier: BSD-3-Clause
// What tells series apart: a colour, a marker and a dash of their own, and a label beside the end of each line.
"use strict";

const MARKERS = [d3.symbolCircle, d3.symbolSquare, d3.symbolTriangle, d3.symbolDiamond, d3.symbolCross, d3.symbolStar, d3.symbolWye];
const DASHES = ["none", "6 3", "2 3", "8 3 2 3", "12 4", "4 2 1 2 1 2", "1 3"];
const COLOURS = 7;

/** The classes of series number `index`: seven colours; beyond, the markers differ in their order. */
function seriesClass(index) {
    return `series colour-${index % COLOURS}`;
}
function marker(index, size) {
    return d3.symbol().type(MARKERS[(index + Math.floor(index / COLOURS)) % MARKERS.length]).size(size)();
}
function dash(index) {
    return DASHES[(index + Math.floor(index / COLOURS)) % DASHES.length];
}

/** Three digits, without an exponent. */
function figureText(value) {
    return value >= 1000 || value === 0 ? d3.format(",.0f")(value) : d3.format(".3~r")(value);
}

/** How wide the text will be, about: fonts are not known before a page is shown. */
function textWidth(text) {
    return 6.4 * text.length;
}

/** Words in lines of at most so many letters. */
function wrapped(text, letters) {
    const lines = [""];
    for (const word of text.split(" ")) {
        const line = lines[lines.length - 1];
        if (line && line.length + 1 + word.length > letters) lines.push(word);
        else lines[lines.length - 1] = line ? `${line} ${word}` : word;
    }
    return lines;
}

/** Moves labels of these heights down, then up, until none covers another, between top and bottom. */
function spread(labels, top, bottom) {
    const sorted = [...labels].sort((a, b) => a.at - b.at);
    let free = top;
    for (const label of sorted) {
        label.at = Math.max(label.at, free + label.height / 2);
        free = label.at + label.height / 2;
    }
    free = bottom;
    for (const label of sorted.reverse()) {
        label.at = Math.min(label.at, free - label.height / 2);
        free = label.at - label.height / 2;
    }
}

const LINE = 14;

/** How many letters a line of a label may have: small panels have little room. */
function lettersIn(size) {
    return size.width < 600 ? 16 : 24;
}

function markText(mark) {
    return `${mark.name} ${figureText(mark.value)}`;
}

/** Room at the right of a panel for the names of its lines, unless there is one, and of its marks. */
function labelRoom(panel, size) {
    const names = [...(panel.series.length > 1 ? panel.series.map((series) => series.name) : []), ...panel.marks.map(markText)];
    if (names.length === 0) return 20;
    return 34 + Math.max(...names.flatMap((name) => wrapped(name, lettersIn(size))).map(textWidth));
}

/** Lines of text whose middle is at `y`. */
function drawText(group, lines, x, y) {
    const text = group.append("text").attr("x", x).attr("y", y - (LINE * (lines.length - 1)) / 2);
    lines.forEach((line, row) => text.append("tspan").attr("x", x).attr("dy", row === 0 ? "0.32em" : LINE).text(line));
}

/** A label for each line, where it ends, and for each mark; `ends` are their places, those of the marks last. */
function drawLabels(svg, panel, ends, box, size) {
    const several = panel.series.length > 1;
    const names = [...panel.series.map((series) => (several ? series.name : "")), ...panel.marks.map(markText)];
    const labels = names.map((name, index) => {
        const lines = wrapped(name, lettersIn(size));
        return { index, lines, at: ends[index].y, end: ends[index], height: LINE * lines.length + 4 };
    }).filter((label) => label.lines[0] !== "");
    spread(labels, box.top - 8, Math.max(box.bottom + 8, box.top - 8 + d3.sum(labels, (label) => label.height)));
    for (const label of labels) {
        const isMark = label.index >= panel.series.length;
        const group = svg.append("g").attr("class", isMark ? "label" : `label ${seriesClass(label.index)}`);
        // From a line that ends in the middle a leader would cross the others.
        const leader = `M${label.end.x + (isMark ? 0 : 5)},${label.end.y}L${box.right + 9},${label.at}`;
        if (box.right - label.end.x < 40) group.append("path").attr("class", "leader").attr("d", leader);
        if (!isMark) group.append("path").attr("class", "marker").attr("d", marker(label.index, 44)).attr("transform", `translate(${box.right + 16},${label.at})`);
        drawText(group, label.lines, box.right + (isMark ? 12 : 26), label.at);
    }
}
