import { defaultConfig, defaultTarget, fingerprintOf } from '../../src/core/default-config.js';
import { GatewayError } from '../../src/core/errors.js';
import { isHeaderName } from '../../src/core/headers.js';
import type { Host } from '../../src/core/plugin.js';
import {
  addressFields,
  type FieldValues,
  fieldValue,
  providerFields,
} from '../../src/core/provider-fields.js';
import type { Secret } from '../../src/core/secret.js';
import type { Mirror, ResolvedConfig, Retry, RouteNode, Target } from '../../src/core/target.js';
import { fieldHeader, type Given, type TargetHeader } from './gateway-headers.js';

/** Targets out of headers need no more of the host than this. */
export type TargetHost = Pick<Host, 'headerPrefixes' | 'isProvider'>;

/** What headers say of a target, checked. */
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

/** These belong to the connection, or to how a message is framed and coded: sent on, they would not be true. */
const reservedHeaders = new Set([
  'host',
  'content-length',
  'content-encoding',
  'transfer-encoding',
  'accept-encoding',
  'connection',
  'keep-alive',
  'te',
  'trailer',
  'upgrade',
  'expect',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
]);

const slug = /^@?[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** Reads the headers that shape a target. Throws for a value that is none. */
export function readHeaderTarget(given: Given, host: TargetHost): HeaderTarget {
  const refuse = (name: TargetHeader, rule: string): never => {
    const header = `${host.headerPrefixes[0]}${name}`;
    throw new GatewayError('invalid_request', `${header} ${rule}.`, { param: header });
  };
  const provider = given.provider ?? null;
  const virtualKey = given['virtual-key'] ?? null;
  if (virtualKey !== null && !slug.test(virtualKey)) throw unknownProvider(virtualKey, 'virtual_key');
  if (provider !== null && !(provider.startsWith('@') ? slug.test(provider) : host.isProvider(provider))) {
    throw unknownProvider(provider, 'provider');
  }
  const timeout = given['request-timeout'];
  if (timeout !== undefined && !isIntegerText(timeout, 1, maxTimeoutMs)) {
    refuse('request-timeout', `must be milliseconds, 1 to ${maxTimeoutMs}`);
  }
  const retries = given['retry-count'];
  if (retries !== undefined && !isIntegerText(retries, 0, maxRetries)) {
    refuse('retry-count', `must be 0 to ${maxRetries}`);
  }
  const strict = given['strict-open-ai-compliance']?.toLowerCase();
  if (strict !== undefined && strict !== 'true' && strict !== 'false') {
    refuse('strict-open-ai-compliance', 'must be true or false');
  }
  return {
    provider,
    virtualKey,
    customHost: given['custom-host'] === undefined ? null : readCustomHost(given['custom-host']),
    forwardHeaders: readForwardHeaders(given['forward-headers'], host, refuse),
    requestTimeoutMs: timeout === undefined ? null : Number(timeout),
    retry: retries === undefined ? null : readRetry(Number(retries)),
    strictOpenAiCompliance: strict !== 'false',
    fields: readFields(given),
  };
}

/** The config of a call that names none: one target, made of headers alone. */
export function headerConfig(header: HeaderTarget, key: string): ResolvedConfig {
  const target: Target = Object.freeze({ ...defaultTarget, ...header });
  return Object.freeze({
    ...defaultConfig,
    fingerprint: fingerprintOf(key),
    root: Object.freeze({ kind: 'target', path: target.path, target }),
  });
}

/** A config whose targets take from headers what they leave open. */
export function fillConfig(config: ResolvedConfig, header: HeaderTarget, key: string): ResolvedConfig {
  const fingerprint = fingerprintOf(`${config.fingerprint}\n${key}`);
  return Object.freeze({ ...config, fingerprint, root: fillNode(config.root, header) });
}

function fillNode(node: RouteNode, header: HeaderTarget): RouteNode {
  if (node.kind === 'target') return Object.freeze({ ...node, target: fillTarget(node.target, header) });
  return Object.freeze({
    ...node,
    children: Object.freeze(node.children.map((child) => fillNode(child, header))),
  });
}

function fillTarget(target: Target, header: HeaderTarget): Target {
  // A config's key goes only to the provider that stands beside it in the config.
  const open = target.provider === null && target.virtualKey === null && target.apiKey === null;
  // A caller chooses the host only where the credential is the caller's too: what a config or a workspace keeps is
  // never sent to an address out of a header.
  const ownsCredential =
    target.apiKey === null && target.virtualKey === null && target.provider?.startsWith('@') !== true;
  return Object.freeze({
    ...target,
    provider: open ? header.provider : target.provider,
    virtualKey: open ? header.virtualKey : target.virtualKey,
    customHost: target.customHost ?? (ownsCredential ? header.customHost : null),
    forwardHeaders: target.forwardHeaders.length > 0 ? target.forwardHeaders : header.forwardHeaders,
    requestTimeoutMs: target.requestTimeoutMs ?? header.requestTimeoutMs,
    retry: target.retry ?? header.retry,
    mirror: target.mirror === null ? null : fillMirror(target.mirror, header),
    strictOpenAiCompliance: target.strictOpenAiCompliance && header.strictOpenAiCompliance,
    fields: Object.freeze(
      Object.assign(
        Object.create(null) as Record<string, string | Secret>,
        ownsCredential ? header.fields : withoutAddress(header.fields),
        target.fields,
      ),
    ),
  });
}

/** What is sent aside is not retried. */
function fillMirror(mirror: Mirror, header: HeaderTarget): Mirror {
  return Object.freeze({ ...mirror, target: fillTarget(mirror.target, { ...header, retry: null }) });
}

function withoutAddress(fields: FieldValues): FieldValues {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !addressFields.has(name)));
}

function unknownProvider(name: string, param: string): GatewayError {
  return new GatewayError(
    'unknown_provider',
    `There is no provider ${JSON.stringify(name.slice(0, 64))} here: name one of the built-in providers, or the @slug of one stored in this workspace.`,
    { param },
  );
}

const isIntegerText = (text: string, min: number, max: number): boolean =>
  /^\d{1,9}$/.test(text) && Number(text) >= min && Number(text) <= max;

const readRetry = (attempts: number): Retry =>
  Object.freeze({ attempts, onStatusCodes: retryStatusCodes, useRetryAfterHeader: false });

function readFields(given: Given): FieldValues {
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

/** Only its form is judged here; where it leads is judged when it is connected to. */
function readCustomHost(text: string): string {
  // The URL parser is generous (`http:/host`, blanks, backslashes); whoever writes those means something else.
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
