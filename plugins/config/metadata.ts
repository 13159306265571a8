export type Metadata = Readonly<Record<string, string>>;

const maxValueLength = 128;
/** A literal, since look-ups in an object without a prototype are slower in V8. */
const none: Metadata = Object.freeze({});

/** The content of the metadata header. `dropped`: paths of dropped values, as the log lists them. */
interface Read {
  readonly pairs: Metadata;
  readonly dropped: readonly string[];
}

const nothingDropped: readonly string[] = Object.freeze([]);
/** Of a call without that header. */
export const nothing: Read = Object.freeze({ pairs: none, dropped: nothingDropped });
/** Limit of listed paths: callers choose the names, and the log has each of them. */
const mostDropped = 16;
const longestName = 64;

/**
 * The pairs of the metadata header: strings of up to 128 characters. Other values are left out and listed:
 * `metadata.<name>`, or `metadata` where it is no JSON object.
 */
export function readMetadata(text: string): Read {
  const parsed = objectOf(text);
  if (parsed === null) return { pairs: none, dropped: ['metadata'] };
  const pairs: Record<string, string> = Object.create(null);
  let dropped: string[] | null = null;
  for (const [key, value] of Object.entries(parsed)) {
    if (typeof value === 'string' && value.length <= maxValueLength) pairs[key] = value;
    else {
      dropped ??= [];
      if (dropped.length < mostDropped) dropped.push(`metadata.${key.slice(0, longestName)}`);
    }
  }
  return { pairs, dropped: dropped ?? nothingDropped };
}

function objectOf(text: string): object | null {
  if (!text.trimStart().startsWith('{')) return null;
  try {
    return JSON.parse(text) as object;
  } catch {
    return null;
  }
}

function isEmpty(metadata: Metadata): boolean {
  for (const _ in metadata) return false;
  return true;
}

/**
 * The metadata of a call. Values of administrators win: workspace over key (both in `key`) over config over
 * request. `user` of the body becomes `_user` where it is not set, and `usual` where the body names none.
 */
export function mergeMetadata(
  key: Metadata,
  config: Metadata,
  request: Metadata,
  user: unknown,
  usual?: string,
): Metadata {
  const isNamed = typeof user === 'string' && user !== '' && user.length <= maxValueLength;
  const named = isNamed ? user : usual;
  if (named === undefined && isEmpty(request)) {
    if (isEmpty(config)) return isEmpty(key) ? none : key;
    if (isEmpty(key)) return config;
  }
  const merged: Record<string, string> = Object.create(null);
  if (named !== undefined) merged['_user'] = named;
  return Object.assign(merged, request, config, key);
}
