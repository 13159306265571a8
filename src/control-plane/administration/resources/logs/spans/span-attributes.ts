import { genAiProviderNames } from '../../../../../common/vocabulary/genai-names.js';
import type { Attributes, OtlpSpan } from './otlp-request.js';

/**
 * What is known of a call of a model from the attributes of its span: in OpenTelemetry's conventions for generative AI, in their older names, in
 * those of OpenLLMetry (`traceloop.*`, `llm.*`) and of OpenInference (`llm.*`). The newest name comes first.
 */
export class SpanAttributes {
  constructor(readonly given: Attributes) {}

  text(...names: readonly string[]): string | null {
    for (const name of names) {
      const value = this.given.get(name);
      if (typeof value === 'string' && value !== '') return value;
    }
    return null;
  }

  number(...names: readonly string[]): number | null {
    for (const name of names) {
      const value = this.given.get(name);
      const number = typeof value === 'string' && value !== '' ? Number(value) : value;
      if (typeof number === 'number' && Number.isFinite(number)) return number;
    }
    return null;
  }

  flag(...names: readonly string[]): boolean {
    return names.some((name) => this.given.get(name) === true || this.given.get(name) === 'true');
  }

  /** A value that is JSON: as text, or as OTLP has it. */
  json(...names: readonly string[]): unknown {
    for (const name of names) {
      const value = this.given.get(name);
      if (value === undefined || value === null || value === '') continue;
      if (typeof value !== 'string') return value;
      try {
        return JSON.parse(value);
      } catch {
        return value;
      }
    }
    return null;
  }

  /** Values of `prefix.0.role`, `prefix.0.content`, …, in the order of the numbers. */
  numbered(prefix: string): Record<string, unknown>[] {
    const items = new Map<number, Record<string, unknown>>();
    for (const [name, value] of this.given) {
      if (!name.startsWith(prefix)) continue;
      const [, index, field] = /^\.(\d{1,4})\.(?:message\.)?(.+)$/.exec(name.slice(prefix.length)) ?? [];
      if (index === undefined || field === undefined) continue;
      const item = items.get(Number(index)) ?? {};
      Object.defineProperty(item, field, { value, enumerable: true, configurable: true, writable: true });
      items.set(Number(index), item);
    }
    return [...items].sort(([a], [b]) => a - b).map(([, item]) => item);
  }
}

const openInferenceKinds = new Set(['LLM', 'EMBEDDING', 'RERANKER']);

/** Is it a call that becomes a log? */
export function isGenAiSpan({ attributes, scope }: OtlpSpan): boolean {
  // What a gateway exported is in its logs already.
  if (scope === 'headgate' && attributes.has('gateway.target')) return false;
  for (const name of attributes.keys()) if (name.startsWith('gen_ai.')) return true;
  if (openInferenceKinds.has(String(attributes.get('openinference.span.kind')))) return true;
  return attributes.has('llm.request.type') || attributes.has('llm.model_name');
}

/** `gen_ai.operation.name`: `chat`, `embeddings`, `execute_tool`, …; null: it is not known. */
export function operationOf(of: SpanAttributes): string | null {
  const named = of.text('gen_ai.operation.name', 'llm.request.type');
  if (named !== null) return named === 'completion' ? 'text_completion' : named.toLowerCase();
  const kind = of.text('openinference.span.kind');
  return kind === 'EMBEDDING' ? 'embeddings' : kind === 'LLM' ? 'chat' : null;
}

/** Operations that span several calls of models or none: their usage is that of the calls, which have spans of their own. */
const enclosing = new Set(['create_agent', 'invoke_agent', 'invoke_workflow', 'execute_tool', 'plan']);

export const isEnclosing = (operation: string | null): boolean =>
  operation !== null && enclosing.has(operation);

/** Longer names, and those that other instrumentations have. */
const otherNames: Readonly<Record<string, string>> = {
  'az.ai.openai': 'azure-openai',
  'az.ai.inference': 'azure-ai',
  azure: 'azure-openai',
  aws: 'bedrock',
  gemini: 'google',
  'gcp.gen_ai': 'google',
  vertexai: 'vertex-ai',
  vertex_ai: 'vertex-ai',
  mistralai: 'mistral-ai',
  mistral: 'mistral-ai',
  xai: 'x-ai',
};
const ownNames = new Map(Object.entries(genAiProviderNames).map(([own, name]) => [name, own]));

/** The gateway's name for the provider; a name that it does not have stays. null: the span names none. */
export function providerOf(of: SpanAttributes): string | null {
  const named = of.text('gen_ai.provider.name', 'gen_ai.system', 'llm.provider', 'llm.vendor', 'llm.system');
  if (named === null) return null;
  const name = named.toLowerCase().slice(0, 128);
  return ownNames.get(name) ?? otherNames[name] ?? name;
}
