/** Enough for what comes before the lists of an answer, and after them. */
const endBytes = 16 * 1024;

/**
 * Fields of an object that is too long to be parsed, as far as they are at its ends: those before its first list, and
 * those from the first of these names on that is near its end.
 */
export function outerFields(bytes: Buffer, names: readonly string[]): Record<string, unknown> {
  return { ...fieldsAtStart(bytes), ...fieldsAtEnd(bytes, names) };
}

function fieldsAtStart(bytes: Buffer): Record<string, unknown> {
  const start = bytes.toString('utf8', 0, endBytes);
  const list = start.indexOf('[');
  const whole = list === -1 ? -1 : start.lastIndexOf(',', list);
  return whole === -1 ? {} : (objectIn(`${start.slice(0, whole)}}`) ?? {});
}

/** What follows a name can be parsed as the rest of an object only if the name is one of the outermost object. */
function fieldsAtEnd(bytes: Buffer, names: readonly string[]): Record<string, unknown> {
  const end = bytes.toString('utf8', Math.max(0, bytes.length - endBytes));
  const found: Record<string, unknown> = {};
  for (const name of names) {
    const at = end.lastIndexOf(`"${name}"`);
    const fields = at === -1 ? null : objectIn(`{${end.slice(at)}`);
    if (fields !== null) Object.assign(found, fields);
  }
  return found;
}

function objectIn(text: string): Record<string, unknown> | null {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return null;
  }
}
