// The documents of all operations, from the schemas of abi. Written by: go test ./internal/jsbuild -run DocumentTypes -update
/// <reference path="./host.d.ts" />

/** Settings, without the types that "anchor-host plugin types" writes from plugin.yaml. */
export type Settings = Record<string, any>;

/** No change is null or nothing. A function may be async. */
export type Answer<T> = T | null | void | Promise<T | null | void>;

/** A request of process, filter and rerank. */
export type RowsRequest = ItemsRequest & { columns: string[]; items: Item[] };

/** AgentState is the state of an agent that persists from call to call. */
export interface AgentState {
  data?: Record<string, any>;
  messages?: Message[];
  observations?: string[];
  reflection?: string;
  run_id?: string;
}

/** Changes is the change set: what a guest answers to retrieve, process, filter and rerank. The parts are applied in the order of the fields, all or nothing. */
export interface Changes {
  edits?: Edit[];
  /** Items are new rows. Their numbers follow the last input row. */
  items?: NewItem[];
  /** Keep lists the rows that stay, each once, ascending. absent keeps all; an empty list drops all. */
  keep?: number[];
  /** Order is a permutation of the surviving rows, old and new. absent keeps the order. Without Scores the existing scores are redistributed along it. */
  order?: number[];
  scores?: RowScore[];
}

/** ClassifyReply is the answer to classify. */
export interface ClassifyReply {
  label: string;
}

/** CompactReply is the answer to compact. */
export interface CompactReply {
  summary?: string;
}

/** CompactRequest is the input document of compact. */
export interface CompactRequest {
  settings?: any;
  /** Summary is the current summary, empty at first. */
  summary?: string;
  turns: Turn[];
}

/** CountReply is the answer to count_tokens: one count per text. */
export interface CountReply {
  counts: number[];
}

/** CountRequest is the input document of count_tokens. */
export interface CountRequest {
  settings?: any;
  texts: string[];
}

/** DistillReply is the answer to distill: observations in the mode observe, a reflection in the mode reflect. */
export interface DistillReply {
  /** Add are observations that are appended. Both lists have at most [MaxObservations]. */
  add?: string[];
  /** Reflection is absent in the mode observe. */
  reflection?: string;
  /** Replace are observations that replace all current ones. If it is absent, the current ones are kept. */
  replace?: string[];
}

/** DistillRequest is the input document of distill. */
export interface DistillRequest {
  /** MaxTokens is the maximum number of tokens of the answer. */
  max_tokens: number;
  /** Messages are the messages to observe, oldest first. There are none in the mode reflect. */
  messages: Message[];
  /** Mode is [DistillObserve] or [DistillReflect]. */
  mode: "observe" | "reflect";
  /** Observations are the current observations. In the mode reflect they are those that the reflection will replace. */
  observations?: string[];
  /** Reflection is the current reflection, empty at first. The new reflection replaces it. */
  reflection?: string;
  settings?: any;
}

/** Edit replaces parts of one row. Parts that are absent stay as they are. */
export interface Edit {
  content?: string;
  metadata?: Record<string, any>;
  priority?: number;
  row: number;
}

/** EnrichReply is the answer to enrich_query. */
export interface EnrichReply {
  query_str?: string;
}

/** EstimateReply is the answer to estimate_tokens. */
export interface EstimateReply {
  tokens?: number;
}

/** Event is the input document of observe. There is no answer. */
export interface Event {
  error?: string;
  items: number;
  query?: string;
  settings?: any;
  step?: string;
  time_ms?: number;
  /** Type is pipeline_start, step_start, step_end, step_error or pipeline_end. */
  type: "pipeline_start" | "step_start" | "step_end" | "step_error" | "pipeline_end";
}

/** ExtractReply is the answer to extract. Each list has at most [MaxFacts]. A fact of the request is in Update or Remove at most once. */
export interface ExtractReply {
  add?: NewFact[];
  /** Remove are the IDs of facts that are wrong, or whose content another fact repeats. */
  remove?: string[];
  update?: FactEdit[];
}

/** ExtractRequest is the input document of extract. */
export interface ExtractRequest {
  /** Facts are known facts of the same owner: those that are related to the turns, or those to tidy up. */
  facts?: Fact[];
  settings?: any;
  /** Turns are the turns to extract facts from, oldest first. There are none if the guest should only tidy up the facts. */
  turns: Turn[];
}

/** Fact is something that a host remembers beyond a conversation. */
export interface Fact {
  content: string;
  created_at?: string;
  id: string;
  /** Type is one of [FactTypes]. */
  memory_type?: "semantic" | "episodic" | "procedural" | "conversation";
  metadata?: Record<string, any>;
  /** Relevance is how important the fact is in general, 0 to 1. */
  relevance_score?: number;
  tags?: string[];
  updated_at?: string;
}

/** FactEdit replaces the text of a fact. */
export interface FactEdit {
  content: string;
  /** ID is the ID of a fact of the request. */
  id: string;
  /** Tags replace the tags of the fact. If the list is absent, the tags do not change. */
  tags?: string[];
}

/** FormatReply is the answer to format: a string or any other JSON value. */
export interface FormatReply {
  format_type?: string;
  output: any;
}

/** FormatRequest is the input document of format. */
export interface FormatRequest {
  items: Item[];
  max_tokens: number;
  /** Query is the question of the user, which ends the output. It is absent if the caller adds it, or if there is none. */
  query?: string;
  settings?: any;
  used_tokens: number;
}

/** InitRequest is the input document of init. There is no answer. */
export interface InitRequest {
  settings?: any;
}

/** Item is one row as a guest sees it. Columns the manifest does not read are zero. In a document the row number is the position in the list. */
export interface Item {
  content?: string;
  created_at?: string;
  /** Embedding is the vector of the item. It is empty if the item has none. */
  embedding?: number[];
  id?: string;
  metadata?: Record<string, any>;
  priority?: number;
  score?: number;
  source?: string;
  token_count?: number;
}

/** ItemsRequest is the input document of retrieve, process, filter, rerank, enrich_query and memory. Fields that an operation does not use are absent. */
export interface ItemsRequest {
  /** Columns names the columns that the items have. */
  columns?: string[];
  items?: Item[];
  query: Query;
  settings?: any;
  /** TokensLeft is how many more tokens fit into the window when the step begins. */
  tokens_left?: number;
  /** TopK is the largest number of items to return, for retrieve and rerank. */
  top_k?: number;
}

/** MemoryReply is the answer to memory: items of source memory or conversation. */
export interface MemoryReply {
  items?: NewItem[];
}

/** Message is one entry of the message list of an agent loop. */
export interface Message {
  content: string;
  name?: string;
  /** Parts are the contents, in order. A request has them only if the guest reads [PartMessageParts]. In an answer they edit the message that the host sent: parts may be left out, texts may change, and texts may be added. A message without them in an answer is as it is without this member. */
  parts?: MessagePart[];
  role: string;
  tool_call_id?: string;
  tool_calls?: any;
}

/** MessageMedia describes a content that is not text. */
export interface MessageMedia {
  /** Bytes is the size of the content if the message contains it, otherwise 0. */
  bytes?: number;
  /** Detail is the level of detail of an image, such as low. */
  detail?: string;
  /** FileID is the name under which the API has stored the content. */
  file_id?: string;
  /** Title is the title or the file name of a document. */
  title?: string;
  /** Type is the media type, such as image/png. */
  type?: string;
  /** URL is where the API fetches the content. It is never one that contains the content. */
  url?: string;
}

/** MessagePart is one piece of the content of a message. */
export interface MessagePart {
  /** Arguments are the arguments of a call: a JSON object, or whatever text the model wrote. */
  arguments?: string;
  /** ID is the id of a call, or of the call that a result answers. */
  id?: string;
  /** Index is the position in the list of the original message, from 0 on. A request always has it. In an answer, a part with it is the original part, and a part without it is a new text. */
  index?: number;
  /** IsError says that a result reports an error. */
  is_error?: boolean;
  /** Media describes an image, a document or an audio. It never has the content itself. */
  media?: MessageMedia;
  /** Name is the name of the tool of a call, and of a result if the result names it. */
  name?: string;
  /** Parts are the contents of a result, or of a document that consists of parts, at most [MaxPartDepth] levels deep. If they are absent in an answer, those of the original stay. An empty list that is not absent removes all parts of a result. */
  parts?: MessagePart[];
  /** Text is the text of a text or of a refusal. */
  text?: string;
  /** Type is text, image, document, audio, tool_call, tool_result, thinking, refusal or unknown. Later hosts may send others. If an answer leaves it out and names only Index, the original part stays as it is. */
  type?: string;
}

/** NewFact is a fact that a guest extracts from turns. */
export interface NewFact {
  content: string;
  /** Type is one of [FactTypes], semantic if it is empty. */
  memory_type?: "semantic" | "episodic" | "procedural" | "conversation";
  metadata?: Record<string, any>;
  /** Relevance is 0 to 1. With 0 the host chooses it. */
  relevance_score?: number;
  tags?: string[];
}

/** NewItem is an item that a guest adds. The host makes the id, counts the tokens, and refuses values that the step is not granted. */
export interface NewItem {
  /** Content is the text. Required. */
  content: string;
  created_at?: string;
  /** Key identifies the item among those of the plugin: the same key makes the same id. If it is empty, the content is the key. */
  key?: string;
  metadata?: Record<string, any>;
  /** Priority is 1 to 10. If it is 0, the host takes the default of the source, or the highest priority that the step is granted if that is lower. */
  priority?: number;
  /** Score is 0 to 1. */
  score?: number;
  /** Source is the source of the item. If it is empty, the host takes the source that the step is granted. */
  source?: string;
}

/** ProvideReply is the answer to provide. If Messages is absent, the messages do not change. State replaces those parts of the state that it names (observations, reflection, data). */
export interface ProvideReply {
  messages?: Message[];
  state?: StateChange;
}

/** ProvideRequest is the input document of provide and estimate_tokens. */
export interface ProvideRequest {
  budget: ProviderBudget;
  messages: Message[];
  settings?: any;
  state: AgentState;
}

/** ProviderBudget is the number of tokens that a provider chain may use. Phase is "llm" or "synthesize". */
export interface ProviderBudget {
  max_messages?: number;
  max_tokens: number;
  phase: "llm" | "synthesize";
}

/** Query is the query of a build. */
export interface Query {
  chat_history?: Turn[];
  embedding?: number[];
  metadata?: Record<string, any>;
  query_str: string;
}

/** QueryRequest is the input document of transform_query and classify. */
export interface QueryRequest {
  query: Query;
  settings?: any;
}

/** RowScore is the new score of one row, 0 to 1. */
export interface RowScore {
  row: number;
  score: number;
}

/** StateChange has the parts of a state that change. A part that is absent does not change. An empty list, text or map that is not absent removes the current value. A guest cannot change RunID and Messages: a host refuses an answer that names them. */
export interface StateChange {
  data?: Record<string, any>;
  messages?: Message[];
  observations?: string[];
  reflection?: string;
  run_id?: string;
}

/** TransformReply is the answer to transform_query: 1 to 32 queries. */
export interface TransformReply {
  queries: Query[];
}

/** Turn is one utterance of a conversation. */
export interface Turn {
  content: string;
  created_at?: string;
  metadata?: Record<string, any>;
  role: string;
  sequence?: number;
  token_count?: number;
}
