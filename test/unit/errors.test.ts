import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { type ErrorCode, errorTable, GatewayError } from '../../src/common/core/errors.js';
import { root } from '../support/root.js';

function sources(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'));
}

describe('the table of errors', () => {
  const documented = [
    ...readFileSync(join(root, 'docs/errors.md'), 'utf8').matchAll(
      /^\| `(\w+)` \| (\d+) \| (\w+) \| (yes|no) \|/gm,
    ),
  ];

  it('is in docs/errors.md, row by row, and nothing else is', () => {
    const rows = documented.map(([, code, status, blame, next]) => ({
      code,
      status: Number(status),
      blame,
      fallback: next === 'yes',
    }));
    const table = Object.entries(errorTable).map(([code, { status, blame, fallback }]) => ({
      code,
      status,
      blame,
      fallback,
    }));
    const byCode = (a: { code?: string }, b: { code?: string }): number =>
      (a.code ?? '') < (b.code ?? '') ? -1 : 1;
    expect(rows.sort(byCode)).to.deep.equal(table.sort(byCode));
  });

  it('has no code that nothing raises', () => {
    const text = [...sources('src'), ...sources('plugins'), ...sources('workers')].join('\n');
    for (const code of Object.keys(errorTable)) {
      const raised = text.split(`'${code}'`).length - 1;
      expect(raised, code).to.be.greaterThan(code === '01' || code === '03' ? 1 : 0);
    }
  });

  it('gives every code a status between 400 and 504 that fits its blame', () => {
    for (const [code, row] of Object.entries(errorTable)) {
      if (row.blame === 'client') expect(row.status, code).to.be.within(400, 499);
      if (row.blame === 'gateway') expect(row.status, code).to.be.within(500, 503);
    }
  });

  it('turns anything thrown into one of its own, keeping the cause out of the message', () => {
    const error = GatewayError.from(new Error('SELECT secret FROM keys'));
    expect(error.code satisfies ErrorCode).to.equal('internal');
    expect(error.message).to.not.include('SELECT');
    expect(error.cause).to.be.instanceOf(Error);
  });
});
