import { createHash } from 'node:crypto';
import type { ResolvedConfig, Target } from '../core/target.js';

/** A target that sets nothing. */
export const defaultTarget: Target = Object.freeze({
  path: 'config',
  name: null,
  provider: null,
  virtualKey: null,
  apiKey: null,
  customHost: null,
  defaultParams: null,
  overrideParams: null,
  dropParams: null,
  forwardHeaders: Object.freeze([]),
  requestTimeoutMs: null,
  retry: null,
  onStatusCodes: null,
  breaker: null,
  cache: null,
  concurrency: null,
  mirror: null,
  deadlineMs: null,
  passthrough: false,
  strictOpenAiCompliance: true,
  fields: Object.freeze(Object.create(null)),
});

/** Identifies a config without revealing its contents. */
export function fingerprintOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 22);
}

/** What governs a call that names no config. */
export const defaultConfig: ResolvedConfig = Object.freeze({
  slug: null,
  version: 'none',
  fingerprint: fingerprintOf(''),
  root: Object.freeze({ kind: 'target', path: 'config', target: defaultTarget }),
  layer: null,
  bytes: 0,
  cache: null,
  metered: false,
  metadata: Object.freeze({}),
});
