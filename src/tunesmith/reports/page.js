"use strict";
// Draws the figures in the colours of the page, and again whenever those change.
(() => {
  const WIDTH_ON_PAPER = 660;
  const { plots, darkColours } = JSON.parse(document.getElementById("figure-data").textContent);
  const darkPage = matchMedia("(prefers-color-scheme: dark)");

  // Plotly travels compressed: it is the bulk of the file.
  async function loadPlotly() {
    const packed = atob(document.getElementById("plotly-bundle").textContent);
    const bytes = Uint8Array.from(packed, (character) => character.charCodeAt(0));
    const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(plain).text();
    document.head.append(script);
  }

  function darkened(part) {
    if (typeof part === "string") return darkColours[part] ?? part;
    if (Array.isArray(part)) return part.map(darkened);
    if (part === null || typeof part !== "object") return part;
    return Object.fromEntries(Object.entries(part).map(([key, value]) => [key, darkened(value)]));
  }

  // Named one by one: Plotly's own choice offers to send the figure to a server.
  const BUTTONS = [["toImage"], ["zoom2d", "pan2d"], ["zoomIn2d", "zoomOut2d", "resetScale2d"]];

  function draw({ dark, width }) {
    const drawn = Object.entries(plots).map(([name, { plot, explorable }]) => {
      const { data, layout } = dark ? darkened(plot) : structuredClone(plot);
      // The buttons show while a mouse hovers; without one they would hide the legend for good.
      const shown = explorable && matchMedia("(hover: hover)").matches ? "hover" : false;
      const options = {
        responsive: true,
        displaylogo: false,
        displayModeBar: shown,
        modeBarButtons: BUTTONS,
      };
      return Plotly.react(`plot-${name}`, data, { ...layout, width, autosize: !width }, options);
    });
    return Promise.all(drawn);
  }

  const drawOnScreen = () => draw({ dark: darkPage.matches });

  async function start() {
    await loadPlotly();
    await drawOnScreen();
    darkPage.addEventListener("change", drawOnScreen);
    addEventListener("beforeprint", () => draw({ dark: false, width: WIDTH_ON_PAPER }));
    addEventListener("afterprint", drawOnScreen);
    document.body.dataset.figures = "drawn";
  }

  start().catch((error) => {
    document.getElementById("failure").hidden = false;
    console.error(error);
  });
})();
