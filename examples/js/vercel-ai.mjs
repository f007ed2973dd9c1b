// An agent of the Vercel AI SDK. The provider's fetch prepares the messages of each request.
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, stepCountIs, tool } from "ai";
import { z } from "zod";

import { session, readLog } from "./session.mjs";

const assemble = session();

async function assembled(url, init) {
  return fetch(url, { ...init, body: JSON.stringify(await assemble(JSON.parse(init.body))) });
}

const openai = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL, fetch: assembled });
const { text } = await generateText({
  model: openai.chat("gpt-5"),
  prompt: "Which requests failed?",
  stopWhen: stepCountIs(10),
  tools: { read_log: tool({ description: "Returns a page of the server's log.", inputSchema: z.object({ page: z.number() }), execute: readLog }) },
});
console.log(text);
