import type { HeaderList } from '../../common/http/headers.js';

/** Headers by name in lower case; of equal ones the last. */
export function headersOf(list: HeaderList): Record<string, string> {
  const headers: Record<string, string> = {};
  for (let i = 0; i + 1 < list.length; i += 2) headers[list[i]!.toLowerCase()] = list[i + 1]!;
  return headers;
}

export function listOf(headers: Readonly<Record<string, string>>): HeaderList {
  return Object.entries(headers).flatMap(([name, value]) => [name.toLowerCase(), value]);
}

/** The value of a JSON text; null: it is none. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}
