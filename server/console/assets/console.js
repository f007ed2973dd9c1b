// Pages work without this script. It keeps the figures of the first page up to date, and adds buttons
// that copy a text.

const live = document.querySelector("[data-live]");
if (live) {
  const events = new EventSource(live.dataset.live);
  events.onmessage = (event) => {
    const data = JSON.parse(event.data);
    for (const [key, value] of Object.entries(data.figures)) {
      const at = document.querySelector(`[data-figure="${key}"]`);
      if (at && at.textContent !== value) at.textContent = value;
    }
    for (const [key, curve] of Object.entries(data.curves)) {
      const at = document.querySelector(`[data-curve="${key}"]`);
      if (!at) continue;
      at.querySelector("polyline").setAttribute("points", curve.Points);
      at.querySelector("b").textContent = curve.Newest;
      at.querySelector("i").textContent = curve.Most;
    }
  };
  addEventListener("pagehide", () => events.close());
}

for (const text of document.querySelectorAll("[data-copy]")) {
  if (!navigator.clipboard) break; // the browser has none for pages of other computers without TLS
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(text.textContent);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  text.after(" ", button);
}
