/** What google.protobuf.Value holds: any JSON. Deeper than this is refused. */
export const deepestJson = 64;

interface ValueMessage {
  nullValue?: unknown;
  numberValue?: number;
  stringValue?: string;
  boolValue?: boolean;
  structValue?: StructMessage | null;
  listValue?: { values?: ValueMessage[] } | null;
}

interface StructMessage {
  fields?: Record<string, ValueMessage>;
}

/** A value nested deeper than `deepestJson`. */
export class TooDeep extends Error {
  override readonly name = 'TooDeep';
}

/** `__proto__` from a stranger becomes a property like any other. */
export function setOwn(object: object, name: string, value: unknown): void {
  Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
}

export function fromValue(message: ValueMessage, depth = 0): unknown {
  if (depth > deepestJson) throw new TooDeep();
  const own = (name: keyof ValueMessage): boolean => Object.hasOwn(message, name);
  if (own('stringValue')) return message.stringValue;
  if (own('numberValue')) return message.numberValue;
  if (own('boolValue')) return message.boolValue;
  if (message.listValue) return (message.listValue.values ?? []).map((item) => fromValue(item, depth + 1));
  return message.structValue ? fromStruct(message.structValue, depth) : null;
}

export function fromStruct(message: StructMessage, depth = 0): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(message.fields ?? {})) {
    setOwn(object, name, fromValue(value, depth + 1));
  }
  return object;
}

export function toValue(json: unknown): ValueMessage {
  if (typeof json === 'string') return { stringValue: json };
  if (typeof json === 'number') return { numberValue: json };
  if (typeof json === 'boolean') return { boolValue: json };
  if (json === null || typeof json !== 'object') return { nullValue: 0 };
  if (Array.isArray(json)) return { listValue: { values: json.map(toValue) } };
  return { structValue: toStruct(json) };
}

export function toStruct(json: object): StructMessage {
  const fields: Record<string, ValueMessage> = {};
  for (const [name, value] of Object.entries(json)) {
    if (value !== undefined) setOwn(fields, name, toValue(value));
  }
  return { fields };
}
