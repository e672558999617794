// SPDX-License-Identifier: BSD-3-Clause
// Scales, axes and grid of a panel.
"use strict";

/** Sizes and counts as they are written: powers of two in full, from 16384 on in Ki or Mi. */
function binaryText(value) {
    if (value >= 1 << 20 && value % (1 << 20) === 0) return value / (1 << 20) + " Mi";
    if (value >= 1 << 14 && value % 1024 === 0) return value / 1024 + " Ki";
    return String(value);
}

/** 1, 10, ..., 10,000, then 100k, 1M: short enough to stand side by side. */
function decimalText(value) {
    return value >= 100000 ? d3.format("~s")(value) : d3.format(",~r")(value);
}

/** The ticks of at most `most` that are a power of two apart; of a narrow range also those that are not. */
function binaryTicks(low, high, most) {
    const first = Math.floor(Math.log2(low)), last = Math.ceil(Math.log2(high));
    const step = Math.max(1, Math.ceil((last - first + 1) / most));
    return d3.range(first, last + 1, step).map((exponent) => 2 ** exponent).filter((tick) => tick >= low && tick <= high);
}

/** Powers of ten; over fewer than three decades with 2 and 5 between them. */
function decimalFactors(low, high) {
    return high / low > 1000 ? [1] : [1, 2, 5];
}
function decimalTicks(low, high, factors) {
    const powers = d3.range(Math.floor(Math.log10(low)), Math.ceil(Math.log10(high)) + 1);
    const ticks = powers.flatMap((power) => factors.map((factor) => (power < 0 ? factor / 10 ** -power : factor * 10 ** power)));
    return ticks.filter((tick) => tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9));
}

/** Where a percentile is on an axis on which each nine takes the same room. */
function nines(percent) {
    return -Math.log10(1 - percent / 100);
}

/** A scale and its ticks for an axis of the model; `values` are all that must be on it, `room` is in pixels. */
function makeAxis(axis, values, range) {
    const room = Math.abs(range[1] - range[0]);
    const low = d3.min(values), high = d3.max(values);
    const several = (count) => Math.max(2, Math.round(room / count));
    switch (axis.scale) {
    case "log2": {
        const scale = d3.scaleLog().base(2).domain([low / 1.15, high * 1.15]).range(range);
        return { scale, ticks: binaryTicks(low / 1.15, high * 1.15, several(52)), text: binaryText };
    }
    case "log10": {
        // From a tick to a tick.
        const factors = decimalFactors(low, high);
        const near = (value) => [...factors, 10].map((factor) => factor * 10 ** Math.floor(Math.log10(value)));
        const first = d3.max(near(low).filter((tick) => tick <= low * 1.0001));
        const last = d3.min(near(high).filter((tick) => tick >= high * 0.9999));
        const domain = [first, last > first ? last : 2 * first];
        return { scale: d3.scaleLog().domain(domain).range(range), ticks: decimalTicks(...domain, factors), text: decimalText };
    }
    case "percentile": {
        const inner = d3.scaleLinear().domain([nines(low) - 0.05, nines(high) + 0.05]).range(range);
        return { scale: (value) => inner(nines(value)), ticks: [50, 90, 99, 99.9, 99.99], text: String };
    }
    case "category": {
        const scale = d3.scaleBand().domain(d3.range(axis.categories.length)).range(range).paddingInner(0.2).paddingOuter(0.1);
        const widest = d3.max(axis.categories, textWidth);
        const every = Math.ceil(axis.categories.length / several(widest + 14));
        const ticks = d3.range(0, axis.categories.length, every);
        return { scale, ticks, text: (place) => axis.categories[place] };
    }
    default: {
        const scale = d3.scaleLinear().domain([0, high > 0 ? high : 1]).range(range).nice(several(50));
        // Between two lcores there is nothing.
        const ticks = scale.ticks(several(50)).filter((tick) => Number.isInteger(tick) || !values.every(Number.isInteger));
        return { scale, ticks, text: decimalText };
    }
    }
}

/** Where a value is: the middle of a band, or the point. */
function place(scale, value) {
    return scale.bandwidth ? scale(value) + scale.bandwidth() / 2 : scale(value);
}

/** Grid lines, ticks and the title of the value axis at the left. */
function drawLeft(svg, axis, made, box) {
    const group = svg.append("g").attr("class", "axis left");
    for (const tick of made.ticks) {
        const y = made.scale(tick);
        group.append("line").attr("class", "grid").attr("x1", box.left).attr("x2", box.right).attr("y1", y).attr("y2", y);
        group.append("text").attr("x", box.left - 8).attr("y", y).attr("dy", "0.32em").attr("text-anchor", "end").text(made.text(tick));
    }
    group.append("text").attr("class", "title").attr("transform", `translate(14,${(box.top + box.bottom) / 2}) rotate(-90)`)
        .attr("text-anchor", "middle").text(axis.title);
}

/** The same at the bottom; `grid` is for axes of values. */
function drawBottom(svg, axis, made, box, grid) {
    const group = svg.append("g").attr("class", "axis bottom");
    group.append("line").attr("class", "base").attr("x1", box.left).attr("x2", box.right).attr("y1", box.bottom).attr("y2", box.bottom);
    for (const tick of made.ticks) {
        const x = place(made.scale, tick);
        if (grid) group.append("line").attr("class", "grid").attr("x1", x).attr("x2", x).attr("y1", box.top).attr("y2", box.bottom);
        else group.append("line").attr("class", "tick").attr("x1", x).attr("x2", x).attr("y1", box.bottom).attr("y2", box.bottom + 4);
        group.append("text").attr("x", x).attr("y", box.bottom + 18).attr("text-anchor", "middle").text(made.text(tick));
    }
    group.append("text").attr("class", "title").attr("x", (box.left + box.right) / 2).attr("y", box.bottom + 38)
        .attr("text-anchor", "middle").text(axis.title);
}
