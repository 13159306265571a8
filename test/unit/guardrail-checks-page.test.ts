import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { checks } from '../../plugins/guardrails/checks/index.js';
import { personalCategories } from '../../plugins/guardrails/checks/pii/kinds.js';
import { secretCategories } from '../../plugins/guardrails/checks/secrets/kinds.js';
import { guardrailChecks } from '../../src/common/guardrails/guardrail-checks.js';
import { findingsOfCheck } from '../../src/common/guardrails/guardrail-findings.js';
import { root } from '../support/root.js';

const page = readFileSync(join(root, 'docs/checks.md'), 'utf8');
const rows = page.split('\n').filter((line) => line.startsWith('| `'));
const cells = (id: string): readonly string[] =>
  rows.find((row) => row.startsWith(`| \`${id}\` |`))?.split(/ \| /) ?? [];

describe('docs/checks.md', () => {
  for (const id of checks.keys()) {
    it(`has ${id} with its parameters, their defaults, and an example that may be stored`, () => {
      const [, sees = '', parameters = '', , example = ''] = cells(id);
      const { phases, parameters: table } = guardrailChecks.get(id)!;
      expect(sees).to.equal(phases.map((phase) => (phase === 'before' ? 'request' : 'answer')).join(', '));
      const names = [...parameters.matchAll(/`(\w+)`(!?)(?: ("[^"]*"|[\w.]+))?/g)];
      expect(names.map(([, name]) => name)).to.have.members(Object.keys(table.properties));
      for (const [, name = '', required = '', fallback] of names) {
        expect(required === '!', name).to.equal(table.required.includes(name));
        const { default: given } = table.properties[name]!;
        expect(fallback, name).to.equal(given === undefined ? undefined : JSON.stringify(given));
      }
      const json = /`(\{.*\})`/.exec(example)?.[1] ?? '';
      expect(findingsOfCheck(id, JSON.parse(json), 'checks[0]')).to.deep.equal([]);
    });
  }

  it('has every category, and no check or category that is not there', () => {
    const ids = rows.map((row) => /^\| `([^`]+)`/.exec(row)?.[1]);
    expect(ids).to.have.members([...checks.keys(), ...personalCategories, ...secretCategories]);
  });
});
