// SPDX-License-Identifier: BSD-3-Clause
// Panels whose points are joined by lines.
"use strict";

/** All values that an axis must show. */
function extentOf(panel, upright) {
    const points = panel.series.flatMap((series) => series.points);
    const marks = panel.marks.filter((mark) => mark.upright === upright).map((mark) => mark.value);
    if (upright) return [...points.map((point) => point.x), ...marks];
    const values = points.flatMap((point) => [point.y, point.low, point.high]).filter((value) => value !== undefined);
    return [...values.filter((value) => panel.y.scale !== "log10" || value > 0), ...marks];
}

function drawLine(svg, series, index, x, y) {
    const group = svg.append("g").attr("class", seriesClass(index));
    const at = (point) => [place(x.scale, point.x), y.scale(point.y)];
    group.append("path").attr("class", "line").attr("d", d3.line()(series.points.map(at))).attr("stroke-dasharray", dash(index));
    for (const point of series.points) {
        const [left, top] = at(point);
        if (point.low !== undefined) {
            const low = Math.max(point.low, y.scale.domain()[0]);
            group.append("path").attr("class", "spread").attr("d", `M${left},${y.scale(low)}V${y.scale(point.high)}`);
        }
        group.append("path").attr("class", "marker point").attr("d", marker(index, 44)).attr("transform", `translate(${left},${top})`)
            .append("title").text(`${series.name}: ${x.text(point.x)}, ${figureText(point.y)}`);
    }
    const [left, top] = at(series.points[series.points.length - 1]);
    return { x: left, y: top };
}

/** A line from side to side, such as a goal; where it ends. */
function drawMark(svg, mark, y, box) {
    const at = y.scale(mark.value);
    svg.append("g").attr("class", "mark").append("line").attr("x1", box.left).attr("x2", box.right).attr("y1", at).attr("y2", at);
    return { x: box.right, y: at };
}

function drawLines(svg, panel, size) {
    const box = { left: 64, top: 16, right: size.width - labelRoom(panel, size), bottom: size.height - 48 };
    const x = makeAxis(panel.x, extentOf(panel, true), [box.left, box.right]);
    const y = makeAxis(panel.y, extentOf(panel, false), [box.bottom, box.top]);
    drawLeft(svg, panel.y, y, box);
    drawBottom(svg, panel.x, x, box, false);
    const marks = panel.marks.map((mark) => drawMark(svg, mark, y, box));
    const ends = panel.series.map((series, index) => drawLine(svg, series, index, x, y));
    drawLabels(svg, panel, [...ends, ...marks], box, size);
}
