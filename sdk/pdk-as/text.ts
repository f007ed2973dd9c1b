/** The words of a text: what white space parts. */
export function words(text: string): string[] {
  const list: string[] = [];
  let from = -1;
  for (let i = 0; i <= text.length; i++) {
    const c = i < text.length ? text.charCodeAt(i) : 0x20;
    const space = c == 0x20 || (c >= 9 && c <= 13) || c == 0xa0;
    if (!space && from < 0) from = i;
    if (space && from >= 0) {
      list.push(text.slice(from, i));
      from = -1;
    }
  }
  return list;
}
