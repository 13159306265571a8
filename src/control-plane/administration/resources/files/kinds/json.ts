/** Plain JSON, as documents hold it. */
export type JsonFields = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is JsonFields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** `spec` + `models` → `spec.models`; at the top the name alone. */
export const under = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`);
