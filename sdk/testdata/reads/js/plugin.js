// Reads columns that its manifest does not name.

export function filter(request) {
  const keep = [];
  request.items.forEach((item, row) => {
    if (!item.metadata?.drop && item.source !== "tool" && item.content) keep.push(row);
  });
  return { keep };
}
