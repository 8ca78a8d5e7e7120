// A chart of lines or stacked areas over the last hour.

import { svg } from "./dom.js";

const WIDTH = 300;
const HEIGHT = 64;

/** A chart that each call of `draw` redraws. */
export class Chart {
  /** `names`: classes of the layers, the lowest first. `format` writes the greatest value. */
  constructor(label, names, format, { least = 1, most = null } = {}) {
    this.label = label;
    this.format = format;
    this.least = least;
    this.most = most;
    this.areas = names.map((name) => svg("path", { class: `area ${name}` }));
    this.lines = names.map((name) => svg("path", { class: `line ${name}` }));
    const size = { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none" };
    this.title = svg("title", {}, label);
    // In this order, an empty layer doesn't hide the line of the layer below.
    this.plot = svg("svg", { ...size, role: "img", "aria-label": label, class: "plot" }, this.title,
      ...this.areas, ...this.lines.toReversed());
    this.top = document.createElement("span");
    this.top.className = "scale";
    this.node = document.createElement("div");
    this.node.className = "chart";
    this.node.append(this.top, this.plot);
  }

  draw(series, now) {
    const points = series.points;
    const spanS = series.spanS(now);
    const sums = points.map(({ values }) => values.reduce((a, b) => a + b, 0));
    const top = this.most ?? nice(Math.max(this.least, ...sums));
    this.top.textContent = this.format(top);
    const x = ({ time }) => WIDTH * (1 - (now - time) / spanS);
    const y = (value) => HEIGHT - 1 - (HEIGHT - 3) * Math.min(1, value / top);
    const heights = points.map(() => 0);
    const at = (point, height) => `${x(point).toFixed(1)} ${height.toFixed(1)}`;
    let floor = points.map((point) => at(point, HEIGHT));
    this.lines.forEach((line, layer) => {
      const edge = points.map((point, i) => at(point, y(heights[i] += point.values[layer])));
      line.setAttribute("d", edge.length ? `M${edge.join("L")}` : "");
      const around = [...edge, ...floor.toReversed()];
      this.areas[layer].setAttribute("d", around.length ? `M${around.join("L")}Z` : "");
      floor = edge;
    });
    const text = points.length ? `${this.label}; at most ${this.format(Math.max(...sums))}` : this.label;
    if (this.title.textContent !== text) {
      this.title.textContent = text;
      this.plot.setAttribute("aria-label", text);
    }
  }
}

/** Rounds up to a number of the series 1, 2, 5, 10, 20 … */
function nice(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * [1, 2, 5, 10].find((step) => step * power >= value * 0.999);
}
