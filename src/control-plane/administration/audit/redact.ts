import type { Message } from '../../../../proto/codec.js';
import type { FieldShape, Shape } from '../../../../proto/shape.js';
import { hiddenUrl } from '../../../common/http/hidden-url.js';

/** Names under which free JSON (routing configs, check parameters) holds credentials. */
const secretName =
  /(?:^|[_-])(?:api_?key|key|secret|token|password|passphrase|authorization|credential|cookie)s?$|(?:Key|Secret|Token|Password)$|headers?$/i;

const urlName = /ur[il]$/i;
const isUrl = /^\s*[a-z][a-z\d+.-]*:\/\//i;

type Fingerprint = (secret: string) => string;

function hideAll(value: unknown, fingerprint: Fingerprint): unknown {
  if (value === null || typeof value === 'boolean') return value;
  if (Array.isArray(value)) return value.map((item) => hideAll(item, fingerprint));
  if (typeof value === 'object') {
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [name, hideAll(item, fingerprint)]),
    );
  }
  return fingerprint(String(value));
}

function hideFree(value: unknown, fingerprint: Fingerprint): unknown {
  if (typeof value === 'string') return isUrl.test(value) ? hiddenUrl(value, fingerprint) : value;
  if (Array.isArray(value)) return value.map((item) => hideFree(item, fingerprint));
  if (typeof value !== 'object' || value === null) return value;
  // An operation of a patch: its path names what its value is.
  const isSecret = 'path' in value && typeof value.path === 'string' && secretName.test(value.path);
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) =>
      isSecret && name === 'value'
        ? [name, hideAll(item, fingerprint)]
        : [name, hideNamed(name, item, fingerprint)],
    ),
  );
}

function hideNamed(name: string, value: unknown, fingerprint: Fingerprint): unknown {
  if (secretName.test(name)) return hideAll(value, fingerprint);
  if (urlName.test(name) && typeof value === 'string') return hiddenUrl(value, fingerprint);
  return hideFree(value, fingerprint);
}

/** JSON text of free JSON is looked into as well; text that is none may hold anything and is hidden whole. */
function hideJson(value: unknown, fingerprint: Fingerprint): unknown {
  if (typeof value !== 'string') return hideFree(value, fingerprint);
  try {
    return hideFree(JSON.parse(value), fingerprint);
  } catch {
    return fingerprint(value);
  }
}

function hidden(field: FieldShape, value: unknown, fingerprint: Fingerprint): unknown {
  // People choose short ones: a fast hash would give them away.
  if (field.rules.password === true) return '[password]';
  if (field.rules.secret === true) return hideAll(value, fingerprint);
  if (field.kind === 'value' || field.kind === 'struct') {
    return field.rules.json === true ? hideJson(value, fingerprint) : hideFree(value, fingerprint);
  }
  if (field.kind !== 'message') return field.map ? hideFree(value, fingerprint) : value;
  const inner = (item: unknown): Message => redacted(field.message!, item as Message, fingerprint);
  if (field.list) return (value as unknown[]).map(inner);
  if (!field.map) return inner(value);
  return Object.fromEntries(Object.entries(value as object).map(([name, item]) => [name, inner(item)]));
}

/** A request as logs may keep it: every secret is replaced by its `fingerprint`. Fields not given are left out. */
export function redacted(shape: Shape, message: Message, fingerprint: Fingerprint): Message {
  const shown: Record<string, unknown> = {};
  for (const field of shape.fields) {
    const value = message[field.name];
    const isEmpty =
      value === undefined || value === null || value === '' || (field.list && (value as []).length === 0);
    if (!isEmpty) shown[field.jsonName] = hidden(field, value, fingerprint);
  }
  return shown;
}

/** Decoded, as far as it can be. */
function plain(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}

/** May a query show its values of this field? Fields that hold more than a value may contain anything. */
const isPlain = ({ kind, map, rules }: FieldShape): boolean =>
  rules.secret !== true &&
  rules.password !== true &&
  !map &&
  kind !== 'value' &&
  kind !== 'struct' &&
  kind !== 'message';

/** The same of a query. What no field is called may be anything, and is hidden too. */
export function redactedQuery(shape: Shape, query: string, fingerprint: Fingerprint): string {
  return query
    .split('&')
    .map((pair) => {
      const [name = '', value] = pair.split(/=(.*)/s);
      const field = shape.spelt(plain(name).replace(/\[\d*\]$/, ''));
      const isShown = !value || (field !== undefined && isPlain(field));
      return isShown ? pair : `${name}=${encodeURIComponent(fingerprint(plain(value)))}`;
    })
    .join('&');
}
