// Compares the globals of globals.js with those of Node.js: node globals.mjs globals.js
import fs from "node:fs";

const text = fs.readFileSync(process.argv[2], "utf8");
const names = [...text.matchAll(/^export (?:class|(?:async )?function|const) (\w+)/gm)].map((m) => m[1]);
const runtime = { encode: (t) => new Uint8Array(Buffer.from(t)), decode: (view) => Buffer.from(view).toString(), random: (n) => new ArrayBuffer(n) };
const own = new Function("anchorRuntime", "host", `${text.replace(/^export /gm, "")}; return {${names}};`)(runtime, {});
let wrong = 0;
const same = (what, mine, theirs) => {
  const run = (f) => { try { return JSON.stringify(f()); } catch (error) { return `${error.name}`; } };
  const [a, b] = [run(mine), run(theirs)];
  if (a !== b) { wrong++; console.log(`${what}: got ${a}, want ${b}`); }
};
const members = ["href", "origin", "protocol", "username", "password", "host", "hostname", "port", "pathname", "search", "hash"];
const parts = (u) => members.map((m) => u[m]);

const addresses = [
  "https://Example.COM", "http://example.com:80/", "https://example.com:443/a/../b/./c?x=1#y", "http://u:p@h.example:8080/p", "http://u@h/", "http://:p@h/",
  "http://a b.example/", "http://h/a b?c d#e f", "http://h/é?é#é", "http://h/%7Ea%2e/%2E%2e/x", "http://h\\a\\b", "http:\\\\h\\a", "http:h/a", "http:///h/a", "//h/a",
  "mailto:a@b.example?subject=x y", "data:text/plain,hi there#x", "javascript:alert(1)", "file:///etc/passwd", "file://host/p", "file:/a/b", "urn:isbn:123",
  "http://1.2.3.4", "http://0x7f.1/", "http://256.1.1.1/", "http://1.2.3/", "http://4294967295/", "http://4294967296/", "http://[::1]:90/", "http://[2001:DB8:0:0:1:0:0:1]/", "http://[::ffff:1.2.3.4]/",
  "http://[1:2:3:4:5:6:7:8:9]/", "http://[::1", "http://h:99999/", "http://h:x/", "http://h:/", "http://", "http://?x", "", "relative", "/abs", "?q=2", "#frag", "../up/../../x", "./a/", ".", "..", "a//b", "  http://h/ \n",
  "ht\ttp://h/a\nb", "http://h/a?b'c\"d<e>f`g{h}|i^j[k]", "http://h/a'b\"c<d>e`f{g}|hi[j]", "http://h/#a'b\"c<d>e`f{g}|h^i[j]", "http://user:pa:ss@word@h/", "foo://h:80/a/../b", "foo://H/", "foo:/a/b", "foo:a", "http://%41.example/", "http://ex%zzample/",
  "ws://h:80/", "wss://h/x", "ftp://h:21/", "http://h/?a=1&a=2&b=%20+%41", "http://h/?", "http://h/#", "http://h?x#y", "http://-/", "http://a..b/", "http://h./", "https:x?y", "http://h/\ud800x",
];
for (const base of [undefined, "https://base.example:8443/one/two/three?q=1#f", "http://h", "foo://h/a/b"]) {
  for (const a of addresses) same(`new URL(${JSON.stringify(a)}, ${base})`, () => parts(new own.URL(a, base)), () => parts(new URL(a, base)));
}
for (const [member, value] of [["protocol", "http"], ["protocol", "foo"], ["username", "a b:c"], ["password", "x@y"], ["host", "o.example:90"], ["hostname", "o.example"], ["port", "443"], ["port", "81x"], ["port", ""],
  ["pathname", "x y/../z"], ["search", "a=b c"], ["search", ""], ["hash", "#é"], ["hash", ""], ["href", "http://new/"]]) {
  const changed = (URL) => { const u = new URL("https://u:p@h.example:8080/a?b=c#d"); u[member] = value; return [...parts(u), [...u.searchParams]]; };
  same(`${member} = ${value}`, () => changed(own.URL), () => changed(URL));
}
for (const init of ["?a=1&b=2&a=3", "a=%zz&b=%e2%82", "a+b=c+d&&=x&y", "é=😀!'()~*-._", { x: "1 2", y: 3 }, [["a", "b"], ["c", "d"]]]) {
  const all = (P) => { const p = new P(init); p.append("n", "v&w"); p.set("a", "z"); p.delete("c"); p.sort(); return [String(p), [...p], p.get("a"), p.getAll("a"), p.has("x"), p.size]; };
  same(`URLSearchParams ${JSON.stringify(init)}`, () => all(own.URLSearchParams), () => all(URLSearchParams));
}
const change = (URL) => { const u = new URL("http://h/?a=1"); u.searchParams.append("b", "2 3"); u.searchParams.delete("a"); return u.href; };
same("searchParams of a URL", () => change(own.URL), () => change(URL));

// Bytes of all kinds, whole and in two pieces.
const some = [0x00, 0x41, 0x7f, 0x80, 0xbf, 0xc0, 0xc2, 0xdf, 0xe0, 0xa0, 0xe2, 0x82, 0xac, 0xed, 0x9f, 0xef, 0xbb, 0xf0, 0x90, 0x9f, 0x98, 0xf4, 0x8f, 0xf5, 0xff];
let seed = 1;
const next = (n) => (seed = (seed * 48271) % 2147483647) % n;
for (let round = 0; round < 4000; round++) {
  const bytes = Uint8Array.from({ length: next(9) }, () => some[next(some.length)]), at = next(bytes.length + 1), fatal = round % 3 === 0;
  const all = (D) => new D("utf-8", { fatal }).decode(bytes);
  const pieces = (D) => { const d = new D(); return d.decode(bytes.subarray(0, at), { stream: true }) + "|" + d.decode(bytes.subarray(at)); };
  same(`decode ${bytes}`, () => all(own.TextDecoder), () => all(TextDecoder));
  same(`decode ${bytes} at ${at}`, () => pieces(own.TextDecoder), () => pieces(TextDecoder));
}
for (const t of ["", "aé😀", "\ud800x\udc00", "x".repeat(9)]) {
  same(`encode ${t}`, () => [...new own.TextEncoder().encode(t)], () => [...new TextEncoder().encode(t)]);
  const into = (E) => { const b = new Uint8Array(6); return [new E().encodeInto(t, b), [...b]]; };
  same(`encodeInto ${t}`, () => into(own.TextEncoder), () => into(TextEncoder));
}
for (const v of [1, null, [1, [2]], { a: { b: 1 } }, () => 1, Symbol("x"), Promise.resolve(1), [new Date(5), /x/g]]) {
  same(`clone ${String(v)}`, () => own.structuredClone(v), () => structuredClone(v));
}
console.log(wrong === 0 ? "all are the same" : `${wrong} differ`);
process.exitCode = wrong === 0 ? 0 : 1;
