import type { Exchange, JsonObject } from '../../../../common/core/exchange.js';
import { isJsonObject, parseJson } from '../../../../common/json/json.js';
import { jsonBytes } from '../../../../common/json/json-bytes.js';
import { isQuick } from '../../../../common/json/json-scan.js';
import { writeJsonInSlices } from '../../../../common/json/json-slices.js';
import { bodyDigest } from '../../../../common/plugin-host/slots.js';
import {
  type FoundText,
  type TextAt,
  withoutTokens,
  withTexts,
} from '../../../../common/plugin-host/texts/found-text.js';
import { textFormats } from '../../../../common/plugin-host/texts/text-formats.js';
import type { BodyReader } from '../../parts.js';
import { OpenText, type Pausing, type TextHook } from './open-text.js';

/** Bytes of a body that is parsed or written in one turn of the event loop. */
const atOnce = 256 * 1024;

/** Runs steps to their end; a promise only if one of them gives one. */
function run<Result>(steps: Pausing<Result>, value?: unknown, isError = false): Result | Promise<Result> {
  const next = isError ? steps.throw(value) : steps.next(value);
  if (next.done === true) return next.value;
  return Promise.resolve(next.value).then(
    (given) => run(steps, given),
    (thrown) => run(steps, thrown, true),
  );
}

/** The texts that hooks change. */
function* changes(
  x: Exchange,
  where: 'request' | 'answer',
  hooks: readonly TextHook[],
  texts: readonly FoundText[],
): Pausing<TextAt[]> {
  const changed: TextAt[] = [];
  for (const found of texts) {
    const { path, text } = found;
    const made = yield* new OpenText(x, where, hooks, found, path.join('.'), false).push(text, true);
    if (made !== text) changed.push({ path, text: made });
  }
  return changed;
}

const written = (json: JsonObject, isLong: boolean): Buffer | Promise<Buffer> =>
  isLong ? writeJsonInSlices(json) : jsonBytes(json);

/** Passes the texts of a request through hooks. Throws what they throw. */
export function passRequest(x: Exchange, hooks: readonly TextHook[]): undefined | Promise<undefined> {
  const { json, bytes } = x.request;
  const found = json === null ? undefined : textFormats[x.endpoint.format]?.request?.(json);
  if (json === null || found === undefined || found.texts.length === 0) return undefined;
  const edit = (changed: readonly TextAt[]): undefined | Promise<undefined> => {
    if (changed.length === 0) return undefined;
    const made = withTexts(json, changed);
    const done = (text: Buffer): undefined => {
      x.edit(made, text);
      // It was the digest of the client's bytes.
      x.set(bodyDigest, null);
    };
    const text = written(made, (bytes?.length ?? 0) > atOnce);
    return text instanceof Promise ? text.then(done) : done(text);
  };
  const changed = run(changes(x, 'request', hooks, found.texts));
  return changed instanceof Promise ? changed.then(edit) : edit(changed);
}

/** Passes the texts of a whole answer through hooks: the bytes in place of its own. Throws what they throw. */
export async function passAnswer(
  x: Exchange,
  hooks: readonly TextHook[],
  bytes: Buffer,
  bodies: Pick<BodyReader, 'readAnswer'>,
): Promise<Buffer> {
  const read = textFormats[x.endpoint.format]?.answer;
  if (read === undefined) return bytes;
  const isLong = bytes.length > atOnce || !isQuick(bytes);
  const json = isLong ? await bodies.readAnswer(bytes) : parseJson(bytes.toString());
  if (!isJsonObject(json)) return bytes;
  const changed = await run(changes(x, 'answer', hooks, read(json)));
  return changed.length === 0 ? bytes : written(withoutTokens(withTexts(json, changed)), isLong);
}
