type Pairs = Readonly<Record<string, string>>;
type Body = Record<string, unknown>;

const longestName = 64;
const longestValue = 128;
const mostPairs = 32;

/** The pairs that plugins have added to the metadata of an exchange, with one more. Throws a TypeError for one that does not fit. */
export function withPair(added: Pairs | null, key: string, value: string): Pairs {
  if (typeof key !== 'string' || key === '' || key.length > longestName)
    throw new TypeError(`A name of metadata has 1 to ${longestName} characters.`);
  if (typeof value !== 'string' || value.length > longestValue)
    throw new TypeError(`A value of metadata is a string of at most ${longestValue} characters.`);
  const all = Object.assign(Object.create(null), added, { [key]: value }) as Record<string, string>;
  if (Object.keys(all).length > mostPairs)
    throw new TypeError(`Plugins add at most ${mostPairs} values to the metadata of a request.`);
  return all;
}

/** The body that `edit` may change. `isClosed`: the cache has looked at it. */
export function editable(json: Body | null, isClosed: boolean): Body {
  if (isClosed)
    throw new TypeError(
      'The body can be changed only in a request hook before the cache: insert the plugin before it.',
    );
  if (json === null)
    throw new TypeError('There is no JSON body to change: a plugin that edits is inserted after config.');
  return json;
}

/** Throws a TypeError where an edited body is none, or the client would not understand the answer to it. */
export function checkEdited(before: Body, json: Body): void {
  if (typeof json !== 'object' || json === null || Array.isArray(json) || 'then' in json)
    throw new TypeError(
      'The function of edit returns a JSON object, or nothing after changing the given one.',
    );
  if ((json['stream'] === true) !== (before['stream'] === true))
    throw new TypeError(
      'edit cannot change stream: the client waits for the kind of answer that it asked for.',
    );
}
