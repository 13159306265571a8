import type { SearchLanguage } from '../search/conditions.js';

/** PostgreSQL makes no text of JSON in which any text has a NUL. */
const textOf = (json: string, name: string): string =>
  `(CASE WHEN strpos(${json}::text, '\\u0000') = 0 THEN ${json} ->> ${name} END)`;

export const postgresSearchLanguage: SearchLanguage = {
  hasMetadata: (name, value, add) =>
    `${textOf('metadata', `${add(kept(name))}::text`)} = ${add(kept(value))}`,
  span: textOf('rest', "'span'"),
  hasTrace(traces, add) {
    const places = traces.map((trace) => add(trace)).join(', ');
    return `(trace IN (${places}) OR (id IN (${places}) AND trace IS NULL))`;
  },
  kept,
};

/** As it was put in. */
export function kept(text: string): string {
  return text.replaceAll('\0', '\ufffd');
}

/** PostgreSQL makes no text of JSON with a NUL in it: it is replaced, as it is in columns. */
export const restWithoutNul = `(CASE WHEN strpos(rest::text, '\\u0000') = 0 THEN rest
  ELSE regexp_replace(rest::text, '(?<!\\\\)((?:\\\\\\\\)*)\\\\u0000', '\\1\\ufffd', 'g')::json END)`;
