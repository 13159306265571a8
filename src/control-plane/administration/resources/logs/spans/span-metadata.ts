import type { OtlpSpan } from './otlp-request.js';

/** Names of attributes that conventions define: their values are in fields of the log, or in none. */
const conventional =
  /^(?:gen_ai|llm|openinference|input|output|embedding|traceloop|http|url|server|client|network|net|peer|error|exception|otel|telemetry|thread|code|process|host|os|container|k8s|cloud|rpc|db|openai|aws|azure|metadata|tag)(?:\.|$)/;
/** Before the name of a pair. */
const prefixes = ['traceloop.association.properties.', 'metadata.', 'llm.metadata.'];
const users = ['user.id', 'enduser.id', 'gen_ai.user.id'];
/** Of the resource: what sent the span. */
const ofResource = ['service.name', 'deployment.environment.name', 'deployment.environment'];
const ofSpan = ['gen_ai.conversation.id', 'session.id', 'gen_ai.agent.name', 'gen_ai.tool.name'];

const mostPairs = 64;
const longestName = 128;
const longestValue = 1024;
/** Characters of all pairs. */
const longestAll = 12_288;

/** Metadata of a log: the attributes that no convention defines, those that are meant as such, and where the span is from. */
export function spanMetadata({ attributes, resource }: OtlpSpan): Record<string, string> {
  const pairs = new Map<string, string>();
  let length = 0;
  const add = (name: string, value: unknown): void => {
    const text = textOf(value);
    if (text === null || name === '' || name.length > longestName || pairs.has(name)) return;
    length += name.length + text.length;
    if (pairs.size < mostPairs && length <= longestAll) pairs.set(name, text);
  };
  for (const name of users) add('_user', attributes.get(name));
  for (const name of ofSpan) add(name, attributes.get(name));
  for (const name of ofResource) add(name, resource.get(name));
  for (const [name, value] of attributes) {
    const prefix = prefixes.find((start) => name.startsWith(start));
    if (prefix !== undefined) add(name.slice(prefix.length), value);
    else if (name === 'metadata') addAll(value, add);
    else if (!conventional.test(name) && !users.includes(name)) add(name, value);
  }
  return Object.fromEntries(pairs);
}

/** OpenInference has a JSON object in one attribute. */
function addAll(value: unknown, add: (name: string, value: unknown) => void): void {
  let given = value;
  if (typeof value === 'string') {
    try {
      given = JSON.parse(value);
    } catch {
      return;
    }
  }
  if (typeof given !== 'object' || given === null) return;
  for (const [name, one] of Object.entries(given)) add(name, one);
}

function textOf(value: unknown): string | null {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return typeof value === 'string' && value !== '' ? value.slice(0, longestValue) : null;
}
