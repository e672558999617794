// SPDX-License-Identifier: BSD-3-Clause
// Panels with lying bars: ours beside the peer's, and the goal.
"use strict";

const ROW = 46;

/** As tall as its rows are many. */
function comparisonHeight(panel) {
    return 34 + ROW * panel.y.categories.length + 48;
}

function drawBar(group, point, x, top, height, kind, from, box) {
    const end = x.scale(point.y);
    group.append("rect").attr("class", `bar ${kind}`).attr("x", from).attr("width", Math.max(0, end - from)).attr("y", top).attr("height", height)
        .append("title").text(point.label);
    let free = end;
    if (point.low !== undefined) {
        const low = x.scale(Math.max(point.low, x.scale.domain()[0])), middle = top + height / 2;
        group.append("path").attr("class", "spread").attr("d", `M${low},${middle}H${x.scale(point.high)}`);
        free = Math.max(free, x.scale(point.high));
    }
    return Math.min(free, box.right);
}

/** One row: its name, two bars with their figures, the goal. */
function drawRow(svg, panel, row, x, box) {
    const top = box.top + ROW * row, from = box.left;
    const [ours, theirs, goals] = panel.series.map((series) => series.points.find((point) => point.x === row));
    const name = svg.append("text").attr("class", "category").attr("y", top + ROW / 2);
    const lines = wrapped(panel.y.categories[row], 30);
    lines.forEach((line, index) => name.append("tspan").attr("x", box.left - 10).attr("text-anchor", "end")
        .attr("dy", index === 0 ? `${0.32 - 0.6 * (lines.length - 1)}em` : "1.2em").text(line));
    const group = svg.append("g").attr("class", seriesClass(0));
    const end = drawBar(group, ours, x, top + 7, 16, "ours", from, box);
    const other = svg.append("g").attr("class", "peer");
    const end_of_other = drawBar(other, theirs, x, top + 25, 12, "theirs", from, box);
    let goal = 0;
    if (goals) {
        goal = x.scale(goals.y);
        svg.append("path").attr("class", "goal").attr("d", `M${goal},${top + 4}V${top + 26}`).append("title").text(`goal ${figureText(goals.y)}`);
    }
    const clear = (at) => (goals && goal > at - 4 && goal < at + 90 ? Math.max(at, goal) : at);
    svg.append("text").attr("class", "value").attr("x", clear(end) + 6).attr("y", top + 15).attr("dy", "0.32em").text(`${figureText(ours.y)} × (${ours.label})`);
    svg.append("text").attr("class", "value small").attr("x", end_of_other + 6).attr("y", top + 31).attr("dy", "0.32em").text(theirs.label);
}

/** The three kinds of signs, above the rows. */
function drawKey(svg, box) {
    const key = svg.append("g").attr("class", "key");
    const entry = (x, draw, text) => {
        draw(key.append("g").attr("transform", `translate(${x},6)`));
        key.append("text").attr("x", x + 22).attr("y", 12).attr("dy", "0.32em").text(text);
    };
    entry(box.left, (g) => g.attr("class", seriesClass(0)).append("rect").attr("width", 16).attr("height", 12), "Verbline");
    entry(box.left + 100, (g) => g.attr("class", "peer").append("rect").attr("width", 16).attr("height", 12), "peer or limit");
    entry(box.left + 220, (g) => g.append("path").attr("class", "goal").attr("d", "M8,-2V14"), "goal");
}

function drawComparison(svg, panel, size) {
    const box = { left: 210, top: 30, right: size.width - 150, bottom: size.height - 48 };
    const points = panel.series.flatMap((series) => series.points);
    const values = points.flatMap((point) => [point.y, point.low, point.high]).filter((value) => value > 0);
    // On a logarithmic axis bars begin below the least of them.
    const least = panel.x.scale === "log10" ? [d3.min(values) / 2] : [];
    const x = makeAxis(panel.x, [...values, ...least], [box.left, box.right]);
    drawBottom(svg, panel.x, x, box, true);
    svg.append("line").attr("class", "one").attr("x1", x.scale(1)).attr("x2", x.scale(1)).attr("y1", box.top).attr("y2", box.bottom);
    panel.y.categories.forEach((_, row) => drawRow(svg, panel, row, x, box));
    drawKey(svg, box);
}
