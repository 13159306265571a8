import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { RefusedStart } from '../../src/control-plane/store/files/refused-start.js';
import type { Database } from '../../src/control-plane/store/sql/connection/driver.js';
import type { Node, NodeReport, Store } from '../../src/control-plane/store/store.js';
import { NodeReports } from '../../src/process/node/node-reports.js';
import { eventually } from '../support/gateway.js';
import { folder, forEachStore } from '../support/stores.js';
import { expectWithinMs } from '../support/time-limits.js';

const silent = { info: () => {}, warn: () => {}, error: () => {} };

describe('nodes', function () {
  this.timeout(30_000);

  forEachStore(({ open, database, dialect }) => {
    let store: Store;
    let bare: Database;
    const running: NodeReports[] = [];

    before(async () => {
      const dataDir = folder();
      store = await open(dataDir);
      bare = await database(dataDir);
    });
    afterEach(() => Promise.all(running.splice(0).map((node) => node.leave())));
    after(async () => {
      await bare?.close();
      await store?.close();
    });

    function nodeOf(more: object = {}, ended: string[] = []): NodeReports {
      const node = new NodeReports({
        ...{ id: randomUUID(), name: 'a', version: '1.2.3', role: 'all', place: randomUUID() },
        nodes: store.nodes,
        now: () => ({ state: 'up', workers: 2, journalBehindMs: 1500 }) as NodeReport,
        end: (reason) => void ended.push(reason),
        log: silent,
        ...more,
      });
      running.push(node);
      return node;
    }

    const shown = async (node: NodeReports): Promise<Node | undefined> =>
      (await store.nodes.list()).find(({ id }) => id === node.start.id);

    it('are listed while they are up, with what they report', async () => {
      const node = nodeOf();
      await node.begin();
      const one = await eventually('the report', async () => {
        const found = await shown(node);
        return found !== undefined && found.workers > 0 && found;
      });
      expect(one).to.deep.include({
        ...{ id: node.start.id, name: 'a', version: '1.2.3', role: 'all', state: 'up' },
        ...{ workers: 2, journalBehindMs: 1500 },
      });
      expect(one.lastSeenAt).to.be.at.least(one.startedAt);
      await eventually('a later report', async () => (await shown(node))!.lastSeenAt > one.lastSeenAt);
    });

    if (dialect !== 'postgres') return;

    const age = (node: NodeReports, ms: number): Promise<unknown> =>
      bare.write((sql) =>
        sql('nodes')
          .where({ id: node.start.id })
          .update({ last_seen_at: sql.raw('last_seen_at - ?', ms) }),
      );

    it('are left at once when they end in order, and lost when they have not reported for ten seconds', async () => {
      const [one, two] = [nodeOf(), nodeOf()];
      for (const node of [one, two]) {
        await node.begin();
        await eventually('up', async () => (await shown(node))?.state === 'up');
      }
      await one.leave();
      expect((await shown(one))?.state).to.equal('left');
      await store.nodes.report(two.start, { state: 'draining', workers: 1, journalBehindMs: 0 });
      expect((await shown(two))?.state).to.be.oneOf(['draining', 'up']);
      const dead = nodeOf();
      await store.nodes.claim(dead.start);
      await store.nodes.report(dead.start, { state: 'up', workers: 1, journalBehindMs: 0 });
      await age(dead, 10_001);
      expect((await shown(dead))?.state).to.equal('lost');
    });

    it('are refused, in one line, with the id of a node that is alive', async () => {
      const node = nodeOf({ name: 'first' });
      await node.begin();
      const error = await nodeOf({ id: node.start.id, name: 'copy' })
        .begin()
        .then(
          () => expect.fail('must be refused'),
          (refused: Error) => refused,
        );
      expect(error).to.be.instanceOf(RefusedStart);
      expect(error.message).to.match(/^The node first runs with the id .+ directory, which is a copy .+\.$/);
    });

    it('that were killed are not held up by their own last report, on the same machine or on another', async () => {
      const killed = nodeOf();
      await store.nodes.claim(killed.start);
      const began = performance.now();
      await nodeOf({ id: killed.start.id, place: killed.start.place }).begin();
      expectWithinMs(performance.now() - began, 500);
      const moved = nodeOf();
      await store.nodes.claim(moved.start);
      await nodeOf({ id: moved.start.id }).begin();
      const old = nodeOf();
      await store.nodes.claim(old.start);
      await age(old, 10_001);
      expect(await store.nodes.claim({ ...old.start, instance: 'other', place: 'other' })).to.equal(null);
    });

    it('end when another has taken their id meanwhile', async () => {
      const ended: string[] = [];
      const stopped = nodeOf({}, ended);
      await stopped.begin();
      await store.nodes.claim({ ...stopped.start, instance: 'copy' });
      await eventually('the end', async () => ended.length > 0);
      expect(ended[0]).to.match(/^Another process has taken the id /);
    });

    it('come back by themselves where their record was removed', async () => {
      const node = nodeOf();
      await node.begin();
      await bare.write((sql) => sql('nodes').where({ id: node.start.id }).delete());
      await eventually('listed again', async () => (await shown(node))?.state === 'up');
    });

    it('end when a newer program has made the store one that they cannot use', async () => {
      const ended: string[] = [];
      await nodeOf({}, ended).begin();
      const later = { version: 999, name: 'later', applied_at: 0, compatible_from: 999 };
      await bare.write((sql) => sql('schema_version').insert(later));
      await eventually('the end', async () => ended.length > 0);
      await bare.write((sql) => sql('schema_version').where({ version: 999 }).delete());
      expect(ended[0]).to.include('usable from version 999 on');
    });

    it('that are gone for a week are forgotten', async () => {
      const node = nodeOf();
      await store.nodes.claim(node.start);
      await store.nodes.report(node.start, { state: 'left', workers: 0, journalBehindMs: 0 });
      await age(node, 7 * 24 * 60 * 60_000 + 1);
      await store.prune();
      expect(await shown(node)).to.equal(undefined);
    });
  });
});
