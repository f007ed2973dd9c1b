import { deep, later } from "./lib";
import words from "./words.json";

type Query = { query_str?: string };

export function process(request: any, settings: any) {
  if (settings.do === "misspelt") return { edits: [{ row: 0, content: request.items[0].contnet }] };
  if (settings.do === "renamed") return { edits: [{ row: 0, metadata: { other: request.items[0].metadata.id } }] };
  return { edits: request.items.map((it: any, row: number) => ({ row, metadata: { ...it.metadata, seen: true } })) };
}

export async function classify({ query }: { query: Query }, settings: any) {
  const what = query.query_str!;
  switch (what) {
    case "deep": deep(null);
    case "wait": return { label: await later(30) };
    case "never": await new Promise(() => {});
    case "cause": try { deep(null); } catch (cause) { throw new Error("outer", { cause }); }
    case "object": throw { code: 42 };
    case "floating": Promise.reject(new Error("nobody waits")); return { label: "x" };
    case "async-throw": await null; return { label: String(deep(null)) };
    case "encode": {
      const t = "aé😀\ud800";
      const d = new TextDecoder("utf-8");
      let out = [...new TextEncoder().encode(t)].join(",");
      out += "|" + d.decode(new Uint8Array([0xe2, 0x82, 0x41, 0xff, 0xf0, 0x9f, 0x98, 0x80]));
      const s = new TextDecoder();
      out += "|" + s.decode(new Uint8Array([0xf0, 0x9f]), { stream: true }) + s.decode(new Uint8Array([0x98, 0x80]), { stream: true }) + s.decode();
      return { label: out };
    }
    case "clone": { const a: any = { d: new Date(0), m: new Map([[1, { x: 1 }]]), r: /x/g, u: new Uint8Array([1, 2]) }; a.self = a; const b = structuredClone(a); return { label: [b.self === b, b.d.getTime(), b.m.get(1).x, b.r.flags, b.u[1], b.m.get(1) !== a.m.get(1)].join() }; }
    case "url": { const u = new URL("../a b?x=1&y=é#z", "https://Example.com:443/p/q/r"); u.searchParams.append("k", "v w"); return { label: u.href + " " + u.searchParams.get("y") + atob("aGk=") + btoa("hi") }; }
    case "then": { let label = "before"; const answer: any = { get label() { return label; } }; Promise.resolve().then(() => { label = "after"; }); return answer; }
    case "order": {
      const order: string[] = [];
      const stop = setInterval(() => { order.push("each"); if (order.length > 3) clearInterval(stop); }, 2);
      setTimeout((word: string) => order.push(word), 1, "one");
      setTimeout(() => order.push("never"), 60_000);
      queueMicrotask(() => order.push("micro"));
      await new Promise((done) => setTimeout(done, 40));
      return { label: order.join() };
    }
    case "late": setTimeout(() => { throw new Error("of a timer"); }, 1); await new Promise((done) => setTimeout(done, 20)); return { label: "x" };
    case "loop": for (;;) await null;
    case "uuid": return { label: crypto.randomUUID().length + words[0] };
    case "intl": return { label: new Intl.NumberFormat("de").format(1) };
    case "typeof": return { label: typeof fetch + typeof require + typeof globalThis.process };
  }
  return { label: "none" };
}
