// SPDX-License-Identifier: BSD-3-Clause
// The page: what the model in the element `data` says, in order. Text of the model becomes text nodes only, never markup.
"use strict";

const DRAW = { lines: drawLines, bars: drawBars, histogram: drawHistogram, comparison: drawComparison };
const SMALL = { width: 480, height: 240 }, LARGE = { width: 820, height: 380 };

/** For those who do not see the drawing: what it is, its axes, and its lines. */
function description(panel, title) {
    const axes = panel.shape === "comparison" ? panel.x.title : `${panel.y.title} against ${panel.x.title}`;
    const lines = panel.series.map((series) => `${series.name}, ${series.points.length} points`).join("; ");
    return `${title}. ${axes}. ${lines}. The numbers are in the table below.`;
}

function drawPanel(parent, panel, figure, several) {
    const title = panel.title || figure.title;
    const holder = parent.append("div").attr("class", "panel");
    if (panel.title) holder.append("h3").text(panel.title);
    const size = { ...(several && panel.shape !== "comparison" ? SMALL : LARGE) };
    if (panel.shape === "comparison") size.height = comparisonHeight(panel);
    const svg = holder.append("svg").attr("viewBox", `0 0 ${size.width} ${size.height}`).attr("role", "img")
        .attr("aria-label", description(panel, title)).attr("class", panel.shape);
    svg.append("title").text(title);
    DRAW[panel.shape](svg, panel, size);
}

function cellText(value) {
    if (value === null) return "–";
    return typeof value === "number" ? String(value) : value;
}

function drawTable(parent, table) {
    const element = parent.append("div").attr("class", "scroll").attr("tabindex", 0).attr("role", "region").attr("aria-label", table.title)
        .append("table");
    element.append("caption").text(table.title);
    const numeric = table.columns.map((_, column) => table.rows.some((row) => typeof row[column] === "number"));
    const head = element.append("thead").append("tr");
    table.columns.forEach((column, index) => head.append("th").attr("scope", "col").classed("number", numeric[index]).text(column));
    const body = element.append("tbody");
    for (const row of table.rows) {
        const line = body.append("tr");
        row.forEach((value, index) => line.append("td").classed("number", numeric[index]).text(cellText(value)));
    }
}

function drawDetails(parent, summary, tables, open) {
    const details = parent.append("details");
    if (open) details.attr("open", "");
    details.append("summary").text(summary);
    for (const table of tables) drawTable(details, table);
}

function drawFigure(parent, figure) {
    const section = parent.append("section").attr("id", figure.id).attr("aria-label", figure.title);
    section.append("h2").text(figure.title);
    if (figure.note) section.append("p").attr("class", "note").text(figure.note);
    const panels = section.append("div").attr("class", figure.panels.length > 1 ? "panels several" : "panels");
    for (const panel of figure.panels) drawPanel(panels, panel, figure, figure.panels.length > 1);
    drawDetails(section, "The numbers", [figure.table]);
}

function drawPage() {
    const model = JSON.parse(document.getElementById("data").textContent);
    const page = d3.select("#page");
    const header = page.append("header");
    header.append("h1").text(model.title);
    header.append("p").attr("class", "note").text(`Made by ${model.made_by} report from ${model.files.join(", ")}.`);
    if (model.figures.length > 1) {
        const list = header.append("nav").attr("aria-label", "Plots").append("ul");
        for (const figure of model.figures) list.append("li").append("a").attr("href", `#${figure.id}`).text(figure.title);
    }
    for (const figure of model.figures) drawFigure(page, figure);
    if (model.results.length > 0) {
        const section = page.append("section").attr("id", "results").attr("aria-label", "Results");
        section.append("h2").text("All results");
        for (const table of model.results) drawDetails(section, table.title, [table], model.figures.length === 0);
    }
    if (model.records.length > 0) {
        const section = page.append("section").attr("id", "machines").attr("aria-label", "Machines");
        section.append("h2").text("Machines");
        for (const record of model.records) drawDetails(section, record.title, record.tables, model.records.length === 1);
    }
}

// On paper nothing can be unfolded.
window.addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((details) => { details.open = true; }));
drawPage();
