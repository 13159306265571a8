export type Metadata = Readonly<Record<string, string>>;

const maxValueLength = 128;
/** A literal: V8 looks through one without a prototype by calling into its runtime, several times a request. */
const none: Metadata = Object.freeze({});

/** The pairs of the metadata header: strings of up to 128 characters. What is not such a pair is left out. */
export function readMetadata(text: string | undefined): Metadata {
  if (text === undefined || !text.trimStart().startsWith('{')) return none;
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return none;
  }
  const pairs: Record<string, string> = Object.create(null);
  for (const [key, value] of Object.entries(parsed as object)) {
    if (typeof value === 'string' && value.length <= maxValueLength) pairs[key] = value;
  }
  return pairs;
}

function isEmpty(metadata: Metadata): boolean {
  for (const _ in metadata) return false;
  return true;
}

/**
 * The metadata of a call. What an administrator wrote wins: workspace over key (both in `key`) over config over
 * request. `user` of the body becomes `_user` where nobody has set it.
 */
export function mergeMetadata(key: Metadata, config: Metadata, request: Metadata, user: unknown): Metadata {
  const named = typeof user === 'string' && user !== '' && user.length <= maxValueLength;
  if (!named && isEmpty(request)) {
    if (isEmpty(config)) return isEmpty(key) ? none : key;
    if (isEmpty(key)) return config;
  }
  const merged: Record<string, string> = Object.create(null);
  if (named) merged['_user'] = user;
  return Object.assign(merged, request, config, key);
}
