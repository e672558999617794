// SPDX-License-Identifier: BSD-3-Clause
// Panels with upright bars: shares of queues, and histograms.
"use strict";

function drawBars(svg, panel, size) {
    const box = { left: 64, top: 16, right: size.width - labelRoom(panel, size), bottom: size.height - 48 };
    const points = panel.series[0].points;
    const x = makeAxis(panel.x, [], [box.left, box.right]);
    const y = makeAxis(panel.y, [...points.map((point) => point.y), ...panel.marks.map((mark) => mark.value)], [box.bottom, box.top]);
    drawLeft(svg, panel.y, y, box);
    const group = svg.append("g").attr("class", seriesClass(0));
    const width = Math.min(x.scale.bandwidth(), 60);
    for (const point of points) {
        group.append("rect").attr("class", "bar").attr("x", place(x.scale, point.x) - width / 2).attr("width", width)
            .attr("y", y.scale(point.y)).attr("height", box.bottom - y.scale(point.y))
            .append("title").text(`${panel.x.categories[point.x]}: ${figureText(point.y)}`);
    }
    drawBottom(svg, panel.x, x, box, false);
    const marks = panel.marks.map((mark) => drawMark(svg, mark, y, box));
    drawLabels(svg, panel, [{ x: 0, y: 0 }, ...marks], box, size);
}

/** Names of percentiles above the panel, each as near to its line as the others let it. */
function drawPercentiles(svg, marks, x, box) {
    const gap = 46;
    const labels = marks.map((mark) => ({ mark, x: x.scale(mark.value), at: x.scale(mark.value), height: gap }));
    spread(labels, box.left - gap / 2, box.right + gap);
    for (const label of labels) {
        const group = svg.append("g").attr("class", "mark");
        group.append("path").attr("d", `M${label.x},${box.bottom}V${box.top}L${label.at},${box.top - 10}`);
        group.append("text").attr("x", label.at).attr("y", box.top - 26).attr("text-anchor", "middle").text(label.mark.name);
        group.append("text").attr("x", label.at).attr("y", box.top - 14).attr("text-anchor", "middle").attr("class", "small").text(figureText(label.mark.value));
    }
}

function drawHistogram(svg, panel, size) {
    const box = { left: 64, top: 54, right: size.width - 40, bottom: size.height - 48 };
    const points = panel.series[0].points;
    const edges = [...points.flatMap((point) => [point.low, point.high]), ...panel.marks.map((mark) => mark.value)];
    const x = makeAxis(panel.x, edges.filter((edge) => edge > 0), [box.left, box.right]);
    const y = makeAxis(panel.y, points.map((point) => point.y), [box.bottom, box.top]);
    drawLeft(svg, panel.y, y, box);
    const group = svg.append("g").attr("class", seriesClass(0));
    for (const point of points) {
        const left = x.scale(point.low), right = x.scale(point.high);
        // One frame among millions is still seen.
        const height = point.y > 0 ? Math.max(1, box.bottom - y.scale(point.y)) : 0;
        group.append("rect").attr("class", "bar").attr("x", left).attr("width", Math.max(0.5, right - left - 1))
            .attr("y", box.bottom - height).attr("height", height)
            .append("title").text(`${figureText(point.low)} to ${figureText(point.high)}: ${point.label}`);
    }
    drawBottom(svg, panel.x, x, box, false);
    drawPercentiles(svg, panel.marks.filter((mark) => mark.value > 0), x, box);
}
