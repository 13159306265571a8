import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { GatewayError } from '../../src/common/core/errors.js';
import { isJsonObject, parseJson, stringifyJson } from '../../src/common/json/json.js';

/** What every written-down case has. */
export interface Golden {
  /** A sentence: the name of the test. */
  readonly about: string;
  out?: unknown;
}

const update = process.env['UPDATE_GOLDEN'] === '1';

/**
 * A test for each file of a folder: what comes out must be what is written there, to the digit. UPDATE_GOLDEN=1
 * writes what comes out now into the files, for a person to read over. `text` is the file, whose `in` keeps its digits.
 */
export function goldenCases<Case extends Golden>(
  folder: string,
  run: (golden: Case, text: string) => unknown,
): void {
  for (const file of readdirSync(folder).sort()) {
    const text = readFileSync(join(folder, file), 'utf8');
    const golden = parseJson(text) as unknown as Case;
    it(`${file}: ${golden.about}`, () => {
      const out = run(golden, text);
      if (update) writeFileSync(join(folder, file), `${pretty({ ...golden, out }, '')}\n`);
      else expect(pretty(out, '')).to.equal(pretty(golden.out ?? null, ''));
    });
  }
}

/** What `convert` gives, or how it refuses. */
export function refusalOr(convert: () => unknown): unknown {
  try {
    return convert();
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return { refused: { code: error.code, param: error.param, message: error.message } };
  }
}

/** Conversions never write to what they are given: here they cannot. */
export function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    for (const member of Object.values(value)) frozen(member);
    Object.freeze(value);
  }
  return value;
}

/** Indented JSON that keeps every digit. */
function pretty(value: unknown, indent: string): string {
  const deeper = `${indent}  `;
  if (Array.isArray(value) && value.length > 0) {
    return `[\n${value.map((item) => deeper + pretty(item, deeper)).join(',\n')}\n${indent}]`;
  }
  if (isJsonObject(value)) {
    const members = Object.entries(value).filter(([, member]) => member !== undefined);
    if (members.length === 0) return '{}';
    const lines = members.map(
      ([key, member]) => `${deeper}${JSON.stringify(key)}: ${pretty(member, deeper)}`,
    );
    return `{\n${lines.join(',\n')}\n${indent}}`;
  }
  return stringifyJson(value);
}
