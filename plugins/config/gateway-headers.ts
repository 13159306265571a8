import type { HeaderList } from '../../src/common/http/headers.js';
import {
  type ProviderField,
  providerFields,
  secretFields,
} from '../../src/common/vocabulary/provider-fields.js';

type FieldHeader<Field extends string> = Field extends `${infer Head}_${infer Tail}`
  ? `${Head}-${FieldHeader<Tail>}`
  : Field;

/** The header name of a field such as `vertex_region`. */
export function fieldHeader(field: ProviderField): FieldHeader<ProviderField> {
  return field.replaceAll('_', '-') as FieldHeader<ProviderField>;
}

/** Headers that change a target. */
export const targetHeaders = [
  'virtual-key',
  'provider',
  'custom-host',
  'request-timeout',
  'retry-count',
  'forward-headers',
  'strict-open-ai-compliance',
  'strict-standard-compliance',
  ...providerFields.map(fieldHeader),
] as const;

const shapingTarget: ReadonlySet<string> = new Set(targetHeaders);

const ownHeaders = [
  ...targetHeaders,
  'config',
  'explain',
  'metadata',
  'trace-id',
  'span-id',
  'parent-span-id',
  'span-name',
] as const;

/** Headers in which a client may send its own provider key, the most frequent first. */
export const credentialHeaders = ['authorization', 'x-api-key', 'api-key', 'x-goog-api-key'] as const;

const otherHeaders = [...credentialHeaders, 'traceparent', 'tracestate'] as const;

export type TargetHeader = (typeof targetHeaders)[number];
export type GivenName = (typeof ownHeaders)[number] | (typeof otherHeaders)[number];

/** Values of the headers that this stage reads, by name without prefix. An empty value counts as absent. */
export type GivenHeaders = Partial<Record<GivenName, string>>;

/** Reads all of them in one pass. Of several headers with one name, or with several prefixes, the first counts. */
export function createHeaderReader(prefixes: readonly string[]): (headers: HeaderList) => GivenHeaders {
  const names = new Map<string, GivenName>(otherHeaders.map((name) => [name, name]));
  for (const prefix of prefixes) for (const name of ownHeaders) names.set(prefix + name, name);
  return (headers) => {
    const given: GivenHeaders = {};
    for (let i = 0; i < headers.length; i += 2) {
      const name = names.get(headers[i]!);
      if (name !== undefined && headers[i + 1] !== '') given[name] ??= headers[i + 1]!;
    }
    return given;
  };
}

const secretHeaders: ReadonlySet<string> = new Set(
  providerFields.filter((field) => secretFields.has(field)).map(fieldHeader),
);

/** Is one of them a credential? */
export function holdsSecret(given: GivenHeaders): boolean {
  for (const name in given) if (secretHeaders.has(name)) return true;
  return false;
}

/**
 * The values that change a target as one text, in the order of arrival; null: there are none. Values contain no line
 * feeds.
 */
export function targetKey(given: GivenHeaders): string | null {
  let key = '';
  for (const name in given) {
    if (shapingTarget.has(name)) key += `${name}:${given[name as GivenName]}\n`;
  }
  return key === '' ? null : key;
}
