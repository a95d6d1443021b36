"use strict";
// Tells the server whether the page is dark, and again whenever that changes.
(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const scheme = () => (dark.matches ? "dark" : "light");
  dark.addEventListener("change", () => {
    dash_clientside.set_props("scheme", { data: scheme() });
  });
  window.dash_clientside = Object.assign({}, window.dash_clientside, {
    tunesmith: {
      follow_scheme: (_path, before) =>
        before === scheme() ? dash_clientside.no_update : scheme(),
    },
  });
})();
