import type { HeaderList } from '../../src/core/headers.js';

/** Provider settings that may stand in a header, as configs spell them. */
export const providerFields = [
  'openai_organization',
  'openai_project',
  'openai_beta',
  'anthropic_version',
  'anthropic_beta',
] as const;

/** What shapes a target, in the order in which it goes into a cache's key. */
export const targetHeaders = [
  'virtual-key',
  'provider',
  'custom-host',
  'request-timeout',
  'retry-count',
  'forward-headers',
  'strict-open-ai-compliance',
  'openai-organization',
  'openai-project',
  'openai-beta',
  'anthropic-version',
  'anthropic-beta',
] as const;

const shapingTarget: ReadonlySet<string> = new Set(targetHeaders);

const ownHeaders = [
  ...targetHeaders,
  'config',
  'metadata',
  'trace-id',
  'span-id',
  'parent-span-id',
  'span-name',
] as const;

/** Where a client may put its own provider key, the likeliest first. */
export const credentialHeaders = ['authorization', 'x-api-key', 'api-key', 'x-goog-api-key'] as const;

const otherHeaders = [...credentialHeaders, 'traceparent'] as const;

export type TargetHeader = (typeof targetHeaders)[number];
export type GivenName = (typeof ownHeaders)[number] | (typeof otherHeaders)[number];

/** Values of the headers that this stage reads, by name without prefix. An empty value is none. */
export type Given = Partial<Record<GivenName, string>>;

/** Reads all of them in one pass. Of several of a name the first counts, and so it is with several prefixes. */
export function createHeaderReader(prefixes: readonly string[]): (headers: HeaderList) => Given {
  const names = new Map<string, GivenName>(otherHeaders.map((name) => [name, name]));
  for (const prefix of prefixes) for (const name of ownHeaders) names.set(prefix + name, name);
  return (headers) => {
    const given: Given = {};
    for (let i = 0; i < headers.length; i += 2) {
      const name = names.get(headers[i]!);
      if (name !== undefined && headers[i + 1] !== '') given[name] ??= headers[i + 1]!;
    }
    return given;
  };
}

/** The values that shape a target as one text; null where there are none. A value holds no line feed. */
export function targetKey(given: Given): string | null {
  let any = false;
  for (const name in given) any ||= shapingTarget.has(name);
  if (!any) return null;
  let key = '';
  for (const name of targetHeaders) key += `${given[name] ?? ''}\n`;
  return key;
}
