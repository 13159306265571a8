import { expect } from 'chai';
import fc from 'fast-check';
import {
  type AuditFileFormat,
  auditFile,
  csvCell,
} from '../../src/control-plane/administration/audit/audit-file.js';
import type { AuditRecord } from '../../src/control-plane/store/store.js';
import { entryOf } from '../support/stores.js';

const rowOf = (more: Partial<AuditRecord>): AuditRecord => ({
  ...entryOf('o1', { requestId: 'r1' }),
  seq: 7,
  at: Date.UTC(2026, 0, 2),
  ...more,
});

async function fileOf(format: AuditFileFormat, rows: readonly AuditRecord[]): Promise<string> {
  let text = '';
  for await (const piece of auditFile(
    (async function* () {
      yield* rows;
    })(),
    format,
  ))
    text += piece;
  return text;
}

/** Reads CSV as RFC 4180 has it. */
function cellsOf(text: string): string[][] {
  const cells = [...text.matchAll(/("(?:[^"]|"")*"|[^",\r\n]*)(,|\r\n)/g)];
  const lines: string[][] = [[]];
  for (const [, cell = '', end] of cells) {
    lines.at(-1)?.push(cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell);
    if (end === '\r\n') lines.push([]);
  }
  return lines.slice(0, -1);
}

describe('the audit log as a file', () => {
  it('has a JSON object a line, its fields always in the same order', async () => {
    const text = await fileOf('jsonl', [rowOf({}), rowOf({ actorName: 'a\nb', country: 'NO' })]);
    const lines = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines).to.have.length(2);
    expect(Object.keys(lines[0])).to.deep.equal(Object.keys(lines[1]));
    expect(lines[0]).to.include({
      seq: 7,
      timestamp: '2026-01-02T00:00:00.000Z',
      country: null,
      allowed: true,
    });
    expect(lines[1]).to.include({ actor_name: 'a\nb', country: 'NO' });
  });

  it('is a table under its heading, of which any text comes back', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme' }), async (text) => {
        const [heading = [], row = []] = cellsOf(await fileOf('csv', [rowOf({ requestBody: `{${text}` })]));
        expect(row).to.have.length(heading.length);
        expect(row[heading.indexOf('request_body')]).to.equal(`{${text}`);
      }),
    );
    expect(await fileOf('csv', [])).to.match(/^seq,timestamp,.+\r\n$/);
  });

  it('has no cell that a spreadsheet would run', () => {
    for (const start of ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠', ' =', '\u00a0@']) {
      const cell = csvCell(`${start}cmd|' /C calc'!A0`);
      expect(cell.replace(/^"/, ''), JSON.stringify(start)).to.match(/^'/);
    }
    expect(csvCell('=HYPERLINK("http://x.test","a")')).to.equal(`"'=HYPERLINK(""http://x.test"",""a"")"`);
    expect(csvCell('a=1')).to.equal('a=1');
    expect(csvCell(-1)).to.equal('-1');
    expect(csvCell(null)).to.equal('');
  });
});
