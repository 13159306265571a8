import { expect } from 'chai';
import { readLoggedRow } from '../../src/control-plane/administration/resources/logs/logged-row.js';

const given = { id: 'log-1', created_at: '2026-01-01T00:00:00Z', workspace_id: 'ws' };
const read = (fields: object) => readLoggedRow(JSON.stringify({ ...given, ...fields }), 'org', 'line 3').row;

describe('lines of logs that are imported', () => {
  it('are rows of the caller’s organisation, whichever one they name', () => {
    expect(read({ organisation_id: 'another' })).to.include({ id: 'log-1', org: 'org' });
  });

  for (const [fields, refusal] of [
    [{ retry_success_count: 2 ** 53 - 1 }, 'line 3: retry_success_count must be at most 10000.'],
    [{ response_status_code: 1000 }, 'line 3: response_status_code must be at most 999.'],
    [{ attempts: [{ status: 2 ** 31 }] }, 'line 3: attempts[0] status must be at most 999.'],
    [
      { metadata: Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`k${i}`, 'v'.repeat(1000)])) },
      'line 3: metadata must have at most 16384 characters of JSON.',
    ],
    [{ id: 'log-2/provider' }, 'line 3: id must not end in /provider.'],
    [{ metadata: { 'a\u0000': 'b' } }, 'line 3: metadata.a\u0000 must be text'],
    [{ ai_model: 'a\ud800' }, 'line 3: ai_model must be text'],
    [{ dropped_fields: ['v'.repeat(140_000)] }, 'line 3 must have at most 131072 characters.'],
  ] as const)
    it(`are refused with path and reason: ${refusal}`, () => {
      expect(() => read(fields)).to.throw(refusal);
    });

  it('are refused where they are nested too deep to be written again', () => {
    const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
    const line = JSON.stringify(given).replace('}', `,"stage_fields":{"a":${deep}}}`);
    expect(() => readLoggedRow(line, 'org', 'line 3')).to.throw('line 3 is nested deeper than 64 levels.');
  });
});
