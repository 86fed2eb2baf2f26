// Before the first line is drawn, so that a dark room sees no white page.
(() => {
  let theme = "";
  try {
    theme = localStorage.getItem("sluice.theme") ?? "";
  } catch {
    // Storage is switched off: the system's choice holds.
  }
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
})();
