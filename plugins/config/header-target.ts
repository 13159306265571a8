import type { Secret } from '../../src/common/access/secret.js';
import { GatewayError } from '../../src/common/core/errors.js';
import type { Retry, Target } from '../../src/common/core/target.js';
import { connectionHeaders, isHeaderName } from '../../src/common/http/headers.js';
import type { HostWith } from '../../src/common/plugin-host/plugin.js';
import { type FieldValues, fieldValue, providerFields } from '../../src/common/vocabulary/provider-fields.js';
import { nearestProvider } from '../../src/common/vocabulary/provider-name.js';
import { fieldHeader, type GivenHeaders, type TargetHeader } from './gateway-headers.js';

/** The part of the host that targets from headers need. */
export type TargetHost = Pick<HostWith<'configs'>, 'headerPrefixes' | 'isProvider'>;

/** The checked parts of a target that are given by headers. */
export type HeaderTarget = Pick<
  Target,
  | 'provider'
  | 'virtualKey'
  | 'customHost'
  | 'forwardHeaders'
  | 'requestTimeoutMs'
  | 'retry'
  | 'strictOpenAiCompliance'
  | 'fields'
>;

const retryStatusCodes: readonly number[] = Object.freeze([429, 500, 502, 503, 504]);
const maxRetries = 5;
const maxTimeoutMs = 86_400_000;

/** Headers of the connection, framing or coding: forwarded, they would be wrong. */
const reservedHeaders = new Set([
  ...connectionHeaders,
  ...['proxy-authenticate', 'proxy-authorization', 'content-encoding', 'accept-encoding'],
]);

const slug = /^@?[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** Reads the headers that change a target. Throws for an invalid value. */
export function readHeaderTarget(given: GivenHeaders, host: TargetHost): HeaderTarget {
  const refuse = (name: TargetHeader, rule: string): never => {
    const header = `${host.headerPrefixes[0]}${name}`;
    throw new GatewayError('invalid_request', `${header} ${rule}.`, { param: header });
  };
  const provider = given.provider ?? null;
  const virtualKey = given['virtual-key'] ?? null;
  if (virtualKey !== null && !slug.test(virtualKey)) throw unknownProvider(virtualKey, 'virtual_key', host);
  if (provider !== null && !(provider.startsWith('@') ? slug.test(provider) : host.isProvider(provider))) {
    throw unknownProvider(provider, 'provider', host);
  }
  const timeout = given['request-timeout'];
  if (timeout !== undefined && !isIntegerText(timeout, 1, maxTimeoutMs)) {
    refuse('request-timeout', `must be milliseconds, 1 to ${maxTimeoutMs}`);
  }
  const retries = given['retry-count'];
  if (retries !== undefined && !isIntegerText(retries, 0, maxRetries)) {
    refuse('retry-count', `must be 0 to ${maxRetries}`);
  }
  const strict = strictnessOf(given, refuse);
  return {
    provider,
    virtualKey,
    customHost: given['custom-host'] === undefined ? null : readCustomHost(given['custom-host']),
    forwardHeaders: readForwardHeaders(given['forward-headers'], host, refuse),
    requestTimeoutMs: timeout === undefined ? null : Number(timeout),
    retry: retries === undefined ? null : readRetry(Number(retries)),
    strictOpenAiCompliance: strict,
    fields: readFields(given),
  };
}

/** By either of its names; strict unless set otherwise. */
function strictnessOf(given: GivenHeaders, refuse: (name: TargetHeader, rule: string) => never): boolean {
  let isStrict = true;
  for (const name of ['strict-standard-compliance', 'strict-open-ai-compliance'] as const) {
    const value = given[name]?.toLowerCase();
    if (value === undefined) continue;
    if (value !== 'true' && value !== 'false') refuse(name, 'must be true or false');
    isStrict = value === 'true';
  }
  return isStrict;
}

function unknownProvider(name: string, param: string, host: TargetHost): GatewayError {
  const meant = nearestProvider(name, (row) => host.isProvider(row));
  const hint = meant === null ? '' : `did you mean ${meant}? If not, `;
  return new GatewayError(
    'unknown_provider',
    `There is no provider ${JSON.stringify(name.slice(0, 64))} here: ${hint}name one of the built-in providers, or the @slug of one stored in this workspace.`,
    { param },
  );
}

const isIntegerText = (text: string, min: number, max: number): boolean =>
  /^\d{1,9}$/.test(text) && Number(text) >= min && Number(text) <= max;

const readRetry = (attempts: number): Retry =>
  Object.freeze({ attempts, onStatusCodes: retryStatusCodes, useRetryAfterHeader: false });

function readFields(given: GivenHeaders): FieldValues {
  const fields: Record<string, string | Secret> = Object.create(null);
  for (const field of providerFields) {
    const value = given[fieldHeader(field)];
    if (value !== undefined) fields[field] = fieldValue(field, value);
  }
  return Object.freeze(fields);
}

function readForwardHeaders(
  text: string | undefined,
  host: TargetHost,
  refuse: (name: TargetHeader, rule: string) => never,
): readonly string[] {
  const names = new Set<string>();
  for (const part of text?.split(',') ?? []) {
    const name = part.trim().toLowerCase();
    if (name === '') continue;
    if (!isHeaderName(name)) refuse('forward-headers', 'must be a comma-separated list of header names');
    if (reservedHeaders.has(name) || host.headerPrefixes.some((prefix) => name.startsWith(prefix))) {
      refuse('forward-headers', `must not name ${name}: the gateway writes or reads that header itself`);
    }
    names.add(name);
  }
  return Object.freeze([...names]);
}

/** Only its form is checked here; its address is checked at the connection. */
function readCustomHost(text: string): string {
  // The URL parser accepts `http:/host`, blanks and backslashes; here they are errors.
  if (/^https?:\/\/[^\s\\?#@/]+(?:\/[^\s\\?#]*)?$/i.test(text)) {
    try {
      const url = new URL(text);
      return (url.origin + url.pathname).replace(/\/+$/, '');
    } catch {
      // Refused below.
    }
  }
  throw new GatewayError(
    'invalid_custom_host',
    'The custom host must be a whole http or https URL without user, password, query and fragment.',
    { param: 'custom_host' },
  );
}
