import type { Source } from '../../../src/common/bytes/body.js';
import type { CacheStatus } from '../../../src/common/core/cache.js';
import type { Exchange, Reply } from '../../../src/common/core/exchange.js';
import { isJsonObject } from '../../../src/common/json/json.js';
import { factsOf } from '../config-facts.js';
import { isConvertible } from '../key.js';
import { convertStored } from './chat-replay.js';
import { type Entry, type Form, ownBytes } from './entry.js';

/** The form that this call's answer needs. */
export function formOf(x: Exchange): Form {
  if (!x.streaming) return 'plain';
  if (!isConvertible(x)) return 'stream';
  const options = x.request.json?.['stream_options'];
  return isJsonObject(options) && options['include_usage'] === true ? 'stream-usage' : 'stream';
}

/** Answers a call with a stored entry; null: the entry cannot be converted to this form. */
export function storedReply(x: Exchange, entry: Entry, form: Form, status: CacheStatus): Reply | null {
  const body = entry.forms[form] ?? converted(x, entry, form);
  if (body === null) return null;
  x.cache = status;
  x.saved = { cost: entry.cost, ms: entry.ms, answer: body };
  x.provider = entry.provider;
  x.modelUsed = entry.model;
  x.target = factsOf(x.config).targets.get(entry.target) ?? null;
  const age = String(Math.max(0, Math.floor((x.startedAt - entry.storedAt) / 1000)));
  return {
    status: 200,
    headers: ['content-type', form === 'plain' ? 'application/json' : 'text/event-stream', 'age', age],
    body,
    events: form !== 'plain',
    errorOrigin: null,
  };
}

/** The reply for a further call that joins a stream in progress. */
export function streamOf(body: Source): Reply {
  const headers = ['content-type', 'text/event-stream', 'age', '0'];
  return { status: 200, headers, body, events: true, errorOrigin: null };
}

/** Converts the entry to a form that is not stored yet. */
function converted(x: Exchange, entry: Entry, form: Form): Buffer | null {
  if (!isConvertible(x)) return null;
  const from = (['plain', 'stream-usage', 'stream'] as const).find(
    (stored) => entry.forms[stored] !== undefined,
  );
  if (from === undefined) return null;
  const bytes = readably(() => convertStored(entry.forms[from]!, from, form, entry.usage));
  if (bytes === null) return null;
  const own = ownBytes([bytes]);
  entry.forms[form] = own;
  return own;
}

/** null: the stored entry cannot be read; the shared store may return anything. */
function readably<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}
