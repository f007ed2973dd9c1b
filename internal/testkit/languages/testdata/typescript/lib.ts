interface Thing { a: number }


export function deep(x: Thing | null): number {
  // a comment that goes


  return x!.a;
}
export async function later(ms: number): Promise<string> {
  const began = Date.now();
  await new Promise((done) => setTimeout(done, ms));
  return Date.now() - began >= ms - 2 ? "waited" : "early";
}
