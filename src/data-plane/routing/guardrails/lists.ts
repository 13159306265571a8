import type { ConfigSchema } from '../schema-check.js';

/** Longest list of status codes, header names or guardrails. */
export const maxListLength = 100;

const guardrails: ConfigSchema = {
  type: 'array',
  maxItems: maxListLength,
  description: `must be a list of at most ${maxListLength} guardrails`,
};

/** The lists of guardrails that a level may have. */
export const guardrailLists = {
  before_request_hooks: guardrails,
  input_guardrails: guardrails,
  after_request_hooks: guardrails,
  output_guardrails: guardrails,
};

/** Names of stored guardrails, and guardrails; read by guardrails.ts. */
export type GuardrailLists = { readonly [name in keyof typeof guardrailLists]?: readonly unknown[] };
