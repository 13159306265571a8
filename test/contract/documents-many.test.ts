// lane: slow
import { expect } from 'chai';
import { type AdminPlane, startPlane } from '../support/admin-plane.js';
import { killBefore } from '../support/statements.js';
import { folder, forEachStore } from '../support/stores.js';
import { expectWithinMs } from '../support/time-limits.js';

const count = process.env['WHOLE_LOAD'] === 'true' ? 2000 : 500;
/** Statements that databases were sent so far. */
const statements = killBefore(0);

/** As a large organisation keeps them: a quarter each of configs, keys, guardrails and providers, in ten workspaces. */
function documents(): object[] {
  const reaction = { feedback: {} };
  const workspaces = Array.from({ length: 10 }, (_, i) => `team-${i}`);
  const all: object[] = workspaces.map((name) => ({ kind: 'Workspace', name, spec: { name } }));
  all.push({
    kind: 'Integration',
    name: 'openai',
    spec: {
      ai_provider_id: 'openai',
      key: { env: 'KEY' },
      workspaces: workspaces.map((id) => ({ id, enabled: true })),
    },
  });
  for (let i = 0; all.length + 4 <= count; i++) {
    const workspace = workspaces[i % workspaces.length]!;
    const team = Math.floor(i / workspaces.length);
    all.push({
      kind: 'ApiKey',
      name: `app-${team}`,
      workspace,
      spec: { scopes: ['completions.write'], defaults: { config_id: `chat-${team}` } },
    });
    all.push({
      kind: 'Config',
      name: `chat-${team}`,
      workspace,
      spec: {
        config: {
          strategy: { mode: 'fallback' },
          input_guardrails: [`words-${team}`],
          targets: [{ provider: `@openai-${team}` }, { provider: '@openai-0' }],
        },
      },
    });
    all.push({
      kind: 'Guardrail',
      name: `words-${team}`,
      workspace,
      spec: {
        checks: [{ id: 'default.wordCount', parameters: { minWords: 0, maxWords: 100 } }],
        actions: { deny: true, async: false, on_success: reaction, on_fail: reaction },
      },
    });
    all.push({ kind: 'Provider', name: `openai-${team}`, workspace, spec: { integration_id: 'openai' } });
  }
  for (let i = 0; all.length < count; i++)
    all.push({ kind: 'Label', name: `label-${i}`, workspace: 'team-0', spec: {} });
  return all;
}

forEachStore((kind) => {
  describe(`${count} documents on ${kind.name}`, function () {
    this.timeout(120_000);
    let plane: AdminPlane;
    const secrets = { KEY: 'sk-canary-many' };

    before(async () => {
      plane = await startPlane({ store: await kind.open(folder()) });
    });

    after(() => plane.close());

    const auditRows = async (): Promise<number> => {
      const { total } = await plane.store.audit.list(
        plane.first.organisation_id,
        {},
        { offset: 0, limit: 1 },
      );
      return total;
    };

    it('are applied with few statements for each, and a second time change nothing', async () => {
      const before = await auditRows();
      const atFirst = statements();
      const began = performance.now();
      const applied = await plane.rest('POST', '/v1/apply', { documents: documents(), secrets });
      const took = performance.now() - began;
      expect(applied.status, JSON.stringify(applied.json).slice(0, 2000)).to.equal(200);
      expect(applied.json.created).to.equal(count);
      if (process.env['SHOW_TIMES'])
        console.log(kind.name, 'first', Math.round(took), (statements() - atFirst) / count);
      // About 0.4 ms each on PostgreSQL: 10 s have room for 12 of each document.
      expect((statements() - atFirst) / count).to.be.below(3.6);
      expectWithinMs(took, 60_000);
      const after = await auditRows();
      // An integration has a second row, of its workspaces.
      expect(after - before).to.equal(count + 1);
      const again = performance.now();
      const atSecond = statements();
      const second = await plane.rest('POST', '/v1/apply', { documents: documents(), secrets });
      if (process.env['SHOW_TIMES'])
        console.log(
          kind.name,
          'second',
          Math.round(performance.now() - again),
          (statements() - atSecond) / count,
        );
      expect(second.json.unchanged).to.equal(count);
      expect(await auditRows()).to.equal(after);
      expect((statements() - atSecond) / count).to.be.below(2);
      expectWithinMs(performance.now() - again, 30_000);
    });
  });
});
