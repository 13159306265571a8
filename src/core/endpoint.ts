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
  | 'gemini-embed-content'
  | 'gemini-batch-embed-contents'
  | 'vertex-predict-embeddings'
  | 'vertex-embed-content'
  | 'bedrock-converse'
  | 'bedrock-embeddings'
  | 'cohere-chat'
  | 'cohere-embed'
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
  | 'passthrough';

/** A door of the data plane. */
export interface Endpoint {
  readonly name: EndpointName;
  /** What the client speaks here; `none` where the gateway looks at no body. */
  readonly format: Format;
  /** `json`: collected, checked and understood. `stream`: passed on as it comes. */
  readonly body: 'json' | 'stream';
  /** Does it only count input tokens? Then the gateway counts where a provider cannot. */
  readonly counts?: true;
  /** Do model and streaming stand in the address, and not in the body? */
  readonly modelInPath?: true;
  /** Passed on, but only to a provider that speaks this. */
  readonly needs?: Format;
}
