import type { Exchange, JsonObject } from './exchange.js';

const longestName = 64;
const longestValue = 128;
const mostPairs = 32;

/** The pairs that plugins have added to the metadata of an exchange, with one more. Throws a TypeError for one that does not fit. */
export function withPair(
  added: Readonly<Record<string, string>> | null,
  key: string,
  value: string,
): Readonly<Record<string, string>> {
  if (typeof key !== 'string' || key === '' || key.length > longestName)
    throw new TypeError(`A name of metadata has 1 to ${longestName} characters.`);
  if (typeof value !== 'string' || value.length > longestValue)
    throw new TypeError(`A value of metadata is a string of at most ${longestValue} characters.`);
  const all = Object.assign(Object.create(null), added, { [key]: value }) as Record<string, string>;
  if (Object.keys(all).length > mostPairs)
    throw new TypeError(`Plugins add at most ${mostPairs} values to the metadata of a request.`);
  return all;
}

/** The body that `edit` may change. */
export function editable({ request, body }: Exchange): JsonObject {
  if (body === 'closed')
    throw new TypeError(
      'The body can be changed only in a request hook before the cache: insert the plugin before it.',
    );
  if (request.json === null)
    throw new TypeError('There is no JSON body to change: a plugin that edits is inserted after config.');
  return request.json;
}

/** Takes over the model of an edited body. Throws a TypeError where the client would not understand the answer. */
export function checkEdited(x: Exchange, json: JsonObject): void {
  if (typeof json !== 'object' || json === null || Array.isArray(json) || 'then' in json)
    throw new TypeError(
      'The function of edit returns a JSON object, or nothing after changing the given one in place.',
    );
  // Model and stream are in the path.
  if (x.endpoint.readPath !== undefined) return;
  const before = x.request.json!;
  if ((json['stream'] === true) !== (before['stream'] === true))
    throw new TypeError(
      'edit cannot change stream: the client waits for the kind of answer that it asked for.',
    );
  if (json['model'] === before['model']) return;
  x.modelAsked = typeof json['model'] === 'string' ? json['model'] : null;
}
