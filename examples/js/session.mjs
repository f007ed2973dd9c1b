// A session of an agent: anchor-host prepares each body of a request for the model.
import { randomUUID } from "node:crypto";

const service = process.env.ANCHOR_URL ?? "http://127.0.0.1:8790";

// session returns the function for the bodies of one session, each with all messages.
export function session(maxTokens = 2000) {
  const url = `${service}/v1/assemble?run=${randomUUID()}&max_tokens=${maxTokens}`;
  return async (body) => {
    const answer = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(await answer.text());
    return (await answer.json()).body;
  };
}

// readLog returns a page of the server's log.
export function readLog({ page }) {
  return Array.from({ length: 3000 }, (_, n) => `page ${page}, line ${n}: GET /item/${n * n} 200`).join("\n");
}
