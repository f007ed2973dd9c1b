// expand-acronyms adds a variant of the query in which acronyms are written out.

export function transform_query({ query }, settings) {
  const text = query.query_str ?? "";
  const full = text.replace(/\b[A-Z]{2,}\b/g, (word) => settings.acronyms?.[word] ?? word);
  return full === text ? null : { queries: [query, { query_str: full }] };
}
