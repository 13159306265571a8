/** The wire shapes a body can have, named after the API that made them. */
export type Format =
  | 'openai-chat'
  | 'openai-completions'
  | 'openai-embeddings'
  | 'openai-moderations'
  | 'openai-responses'
  | 'anthropic-messages'
  | 'anthropic-count-tokens'
  | 'gemini-generate-content'
  | 'gemini-count-tokens'
  | 'vertex-count-tokens'
  | 'bedrock-count-tokens'
  | 'gemini-embed-content'
  | 'gemini-batch-embed-contents'
  | 'vertex-predict-embeddings'
  | 'vertex-embed-content'
  | 'bedrock-converse'
  | 'bedrock-embeddings'
  | 'cohere-chat'
  | 'cohere-embed'
  | 'nomic-embed'
  | 'cohere-rerank'
  | 'jina-rerank'
  | 'voyage-rerank'
  | 'rerank'
  | 'none';

export type EndpointName =
  | 'chat'
  | 'completions'
  | 'embeddings'
  | 'moderations'
  | 'rerank'
  | 'responses'
  | 'stored-responses'
  | 'messages'
  | 'count-tokens'
  | 'gemini-generate'
  | 'gemini-count-tokens'
  | 'gemini-embed'
  | 'models'
  | 'admin'
  | 'health'
  | 'passthrough';

/** Model and streaming of a call whose path contains them. */
export interface PathCall {
  readonly model: string;
  readonly stream: boolean;
}

/** An endpoint of the data plane. */
export interface Endpoint {
  readonly name: EndpointName;
  /** The client's format; `none`: the gateway does not parse the body. */
  readonly format: Format;
  /** `json`: collected, parsed and checked. `stream`: passed on as it arrives. */
  readonly body: 'json' | 'stream';
  /** Does it only count input tokens? Then the gateway counts if a provider cannot. */
  readonly counts?: true;
  /** Are model and streaming in the address, and not in the body? */
  readonly modelInPath?: true;
  /** Reads them; present if `modelInPath` is set. Throws `invalid_request` for a model that cannot be one. */
  readonly readPath?: (path: string) => PathCall;
  /** Does this query ask for a stream as one JSON array instead of events? Absent: never. */
  readonly wantsArray?: (query: string) => boolean;
  /** The call is passed on only to providers with this format. */
  readonly needs?: Format;
}
