import { Value } from "./json";
import { copyFloats, Request, Texts } from "./request";

/** Makes request the batch of n bytes that begins at an address. It is read in place. Returns an error, or null. */
export function readBatch(request: Request, at: usize, n: u32): string | null {
  if (n < 32 || load<u32>(at) != 0x42434e41) return "batch: does not begin with ANCB";
  if (load<u16>(at, 4) != 1) return "batch: version " + load<u16>(at, 4).toString() + ", want 1";
  clear(request);
  request.length = <i32>load<u32>(at, 16);
  const directory = at + load<u32>(at, 8);
  const sections = load<u32>(at, 20);
  for (let i: u32 = 0; i < sections; i++) {
    const entry = directory + (<usize>i << 4);
    const known = section(request, load<u16>(entry), at + load<u32>(entry, 8), load<u32>(entry, 12));
    if (!known && load<u32>(entry, 4) & 1) {
      return "batch: section " + load<u16>(entry).toString() + " is required and not known (build the plugin with a newer version)";
    }
  }
  return null;
}

/** Empties a request. */
export function clear(request: Request): void {
  const nothing = new Value(0, 0);
  request.length = 0;
  request.topK = 0;
  request.tokensLeft = 0;
  request.settings = nothing;
  request.queryMetadata = nothing;
  request.chatHistory = nothing;
  request.querySize = 0;
  request.ids.offsets = 0;
  request.texts.offsets = 0;
  request.sources.offsets = 0;
  request.scores = 0;
  request.priorities = 0;
  request.tokenCounts = 0;
  request.times = 0;
  request.told = 0;
  request.meta.clear();
  request.vectors.clear();
  if (request.queryEmbedding.length) request.queryEmbedding = new Float32Array(0);
}

function section(request: Request, id: u32, at: usize, n: u32): bool {
  switch (id) {
    case 1: texts(request.ids, request.length, at); break;
    case 2: request.scores = at; break;
    case 3: texts(request.texts, request.length, at); break;
    case 4: request.meta.open(at, request.length); break;
    case 5: texts(request.sources, request.length, at); break;
    case 6: request.priorities = at; break;
    case 7: request.tokenCounts = at; break;
    case 8: request.times = at; break;
    case 9:
      request.vectors.sent = true;
      request.vectors.dimension = load<u32>(at);
      request.vectors.numbers = at + 8;
      break;
    case 256:
      request.queryStart = at;
      request.querySize = n;
      break;
    case 257: request.queryMetadata = new Value(at, at + n); break;
    case 258: request.chatHistory = new Value(at, at + n); break;
    case 259: request.queryEmbedding = copyFloats(at, n >> 2); break;
    case 260: request.settings = new Value(at, at + n); break;
    case 261: request.topK = load<i32>(at); break;
    case 262: request.tokensLeft = load<i32>(at); break;
    default: return false;
  }
  return true;
}

function texts(column: Texts, n: i32, at: usize): void {
  column.offsets = at;
  column.bytes = at + ((<usize>n + 1) << 2);
}
