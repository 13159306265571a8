import { GatewayError } from '../../../common/core/errors.js';
import { fixedEndpoints, storedResponsesRoot } from '../fixed-endpoints.js';
import { adminPathKind } from './admin-path.js';
import { geminiEndpoint, geminiMethods } from './gemini-path.js';
import { longestAddress } from './passthrough-path.js';

/**
 * Clients and upstreams do not agree on when two spellings are one path: many servers ignore case, doubled slashes,
 * escapes or `;parameters`. Passed-through calls are not metered like an endpoint, so a path that an upstream could
 * take for one of the gateway's endpoints must be that endpoint here, or be refused.
 */

const slash = 0x2f;
/** RFC 3986 §2.3: escaping these changes nothing. */
const unreserved = /^[A-Za-z0-9\-._~]$/;

/**
 * The path in canonical form: itself for an exact one; for one that differs only in escaped unreserved characters
 * or one trailing slash, the endpoint's own. A path of no endpoint is returned unchanged. Throws `not_found`, naming
 * the right path, for one that merely resembles an endpoint's; and for an escaped one of the administration, so that
 * a proxy's rules for its paths are not evaded.
 */
export function canonicalPath(path: string): string {
  if (fixedEndpoints.has(path)) return path;
  const plain = withoutNeedlessEscapes(path);
  const found = endpointPath(plain);
  if (found !== null && (plain === path || adminPathKind(found) === null)) return found;
  const name = resembled(path) ?? found;
  if (name === null) return path;
  throw new GatewayError('not_found', `${complaint(path)}: send ${name}.`, { param: 'path' });
}

/** The usual reason is a client that adds a version to a base URL that ends in one. */
const complaint = (path: string): string =>
  /^\/v1(?:beta)?\/v1(?:beta)?\//.test(path)
    ? 'The path has its version twice; remove one, usually the last segment of the base URL'
    : 'This path is not spelled as the gateway has it';

/** The path, or the path without its last slash, whichever the tables have; null: neither. */
function endpointPath(path: string): string | null {
  if (isModelEndpoint(path)) return path;
  const kind = adminPathKind(path);
  if (kind !== null && kind !== 'unknown') return path;
  if (path.charCodeAt(path.length - 1) === slash) {
    const shorter = path.slice(0, -1);
    if (isModelEndpoint(shorter)) return shorter;
    const shorterKind = adminPathKind(shorter);
    if (shorterKind !== null && shorterKind !== 'unknown') return shorter;
  }
  return kind === null ? null : path;
}

function isModelEndpoint(path: string): boolean {
  if (fixedEndpoints.has(path) || geminiEndpoint(path) !== null) return true;
  return path.startsWith(storedResponsesRoot) && path.length > storedResponsesRoot.length;
}

function withoutNeedlessEscapes(path: string): string {
  if (!path.includes('%')) return path;
  return path.replace(/%[0-9a-f]{2}/gi, (escaped) => {
    const character = String.fromCharCode(Number.parseInt(escaped.slice(1), 16));
    return unreserved.test(character) ? character : escaped;
  });
}

/** First segments that clients omit or repeat before an endpoint's own path: all variants mean the same. */
const versions: ReadonlySet<string> = new Set(['v1', 'v1beta', 'openai']);
const methodNames: ReadonlyMap<string, string> = new Map(
  geminiMethods.map((method) => [method.toLowerCase(), method]),
);

/**
 * Characters without which a path cannot resemble another one: most paths have none, and the loose comparison is
 * expensive.
 */
const oddities = /[A-Z%;\\]|[^\x21-\x7e]|\/\/|\.\/|[./]$|^\/v1beta\/|^\/v1\/(?:v1(?:beta)?|openai|models)\//;

/** The endpoint that a path resembles when it is read as loosely as an upstream may read it; null: none. */
function resembled(path: string): string | null {
  if (path.length > longestAddress || !oddities.test(path)) return null;
  const segments = looseSegments(path);
  let start = 0;
  while (start < segments.length && versions.has(segments[start]!)) start++;
  if (start === 0 || start === segments.length) return null;
  const loose = `/v1/${segments.slice(start).join('/')}`;
  // Gemini has a model list of its own.
  if (loose === '/v1/models' && segments[start - 1] === 'v1beta') return null;
  if (fixedEndpoints.has(loose)) return loose;
  if (loose.startsWith(storedResponsesRoot)) return `${storedResponsesRoot}{id}`;
  if (loose.startsWith('/v1/models/')) {
    const method = methodNames.get(loose.slice(loose.lastIndexOf(':') + 1));
    if (method !== undefined) return `/v1beta/models/{model}:${method}`;
  }
  if (adminPathKind(loose) === null) return null;
  return `/v1/${segments[start]}`;
}

/** Fully decoded, in lower case, without parameters, empty segments, and dots or blanks at ends. */
function looseSegments(path: string): string[] {
  let text = path;
  for (let round = 0; round < 3 && text.includes('%'); round++) text = decoded(text);
  return text
    .normalize('NFKC')
    .toLowerCase()
    .split(/[/\\]/)
    .map((segment) => trimmed(segment.split(/[;?#]/, 1)[0]!))
    .filter((segment) => segment !== '');
}

/** Decodes what can be decoded, and keeps the rest. */
function decoded(text: string): string {
  return text.replace(/(?:%[0-9a-f]{2})+/gi, (run) => {
    try {
      return decodeURIComponent(run);
    } catch {
      return run.replace(/%[0-7][0-9a-f]/gi, (one) => String.fromCharCode(Number.parseInt(one.slice(1), 16)));
    }
  });
}

function trimmed(segment: string): string {
  let end = segment.length;
  while (end > 0 && (segment.charCodeAt(end - 1) <= 0x20 || segment[end - 1] === '.')) end--;
  let start = 0;
  while (start < end && segment.charCodeAt(start) <= 0x20) start++;
  return segment.slice(start, end);
}
