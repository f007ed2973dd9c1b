// Keeps the items that contain any, or all, of the keywords.

export function filter(request, settings) {
  const words = lower(settings.keywords ?? "").split(" ").filter((word) => word !== "");
  if (words.length === 0) return; // no change
  const matches = settings.match === "all"
    ? (text) => words.every((word) => text.includes(word))
    : (text) => words.some((word) => text.includes(word));
  const keep = [];
  request.items.forEach((item, row) => {
    if (matches(lower(item.content ?? ""))) keep.push(row);
  });
  return { keep };
}

// Letters of ASCII only: toLowerCase would change others too.
function lower(text) {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}
