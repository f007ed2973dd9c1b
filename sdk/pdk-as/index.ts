// What a plugin imports.
export { Changes, NewItem } from "./changes";
export { config, DONE, fail, FAILED, log, NO_CHANGE } from "./host";
export { quote, Value } from "./json";
export { Metadata } from "./metadata";
export { Request } from "./request";
export { inBatch, inDocument, inJSON } from "./serve";
export { words } from "./text";
export { countTokens, http, httpBatch, HttpRequest, HttpResponse, kv } from "./services";
export { embed, Hit, Hits, llm, LlmAnswer, llmBatch, LlmRequest, Search, search, ServiceAnswer, Vectors } from "./models";
