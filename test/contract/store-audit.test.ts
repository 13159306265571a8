import { randomInt } from 'node:crypto';
import { expect } from 'chai';
import type { GatewayError } from '../../src/common/core/errors.js';
import { bootstrap } from '../../src/control-plane/store/bootstrap.js';
import type { AuditAnchor } from '../../src/control-plane/store/files/audit-anchors.js';
import type { Database, Sql, Transaction } from '../../src/control-plane/store/sql/connection/driver.js';
import { SystemKeys } from '../../src/control-plane/store/sql/keys/system-keys.js';
import { SqlAudit } from '../../src/control-plane/store/sql/records/audit.js';
import {
  AuditChain,
  type AuditRow,
  genesis,
  hashRow,
} from '../../src/control-plane/store/sql/records/audit-chain.js';
import type { AuditFilter, AuditVerdict, Store } from '../../src/control-plane/store/store.js';
import { isLong } from '../support/long-forms.js';
import { entryOf, folder, forEachStore, masterKey } from '../support/stores.js';
import { expectWithinMs } from '../support/time-limits.js';

const everything = { offset: 0, limit: 1000 };

/** Appends in a savepoint of its own, which is undone. */
async function appendAndUndo(store: Store, organisation: string): Promise<void> {
  const { database } = store.audit as SqlAudit;
  const undo = new Error('undo');
  await database
    .write(
      async () => {
        await store.audit.append(entryOf(organisation));
        await store.audit.append(entryOf(organisation));
        throw undo;
      },
      { apart: true },
    )
    .catch((error) => {
      if (error !== undo) throw error;
    });
}

describe('the audit log', () => {
  forEachStore(({ open, database, dialect }) => {
    let dataDir: string;
    let store: Store;
    let organisation: string;
    let now = 1_800_000_000_000;

    beforeEach(async () => {
      dataDir = folder();
      store = await open(dataDir, () => now);
      const first = await bootstrap(store, { dataDir, simulated: false });
      organisation = first?.organisation_id ?? '';
    });
    afterEach(() => store?.close());

    it('is listed newest first, in pages, by each of its filters and by all of them', async () => {
      for (let i = 0; i < 6; i++) {
        now += 1000;
        const odd = i % 2 === 1;
        await store.audit.append(
          entryOf(organisation, {
            requestId: `r${i}`,
            workspaceId: odd ? 'w1' : null,
            method: odd ? 'DELETE' : 'POST',
            uri: odd ? '/v1/api-keys/1' : '/v1/configs',
            userId: odd ? 'u1' : 'k1',
            userType: odd ? 'user' : 'api_key',
            responseStatusCode: odd ? 403 : 200,
            resourceType: odd ? 'api_key' : 'config',
            resourceId: odd ? '1' : null,
            action: odd ? 'delete' : 'create',
            clientIp: odd ? '::1' : '127.0.0.1',
            country: odd ? 'NO' : null,
            allowed: !odd,
          }),
        );
      }
      const ids = async (filter: AuditFilter, page = everything): Promise<string> =>
        (await store.audit.list(organisation, filter, page)).rows.map((row) => row.requestId).join();
      expect(await ids({})).to.equal('r5,r4,r3,r2,r1,r0');
      expect(await ids({}, { offset: 1, limit: 2 })).to.equal('r4,r3');
      expect((await store.audit.list(organisation, {}, { offset: 0, limit: 1 })).total).to.equal(6);
      const oddOnes: AuditFilter = {
        workspaceId: 'w1',
        method: 'DELETE',
        uri: '/v1/api-keys/1',
        userId: 'u1',
        userType: 'user',
        responseStatusCode: 403,
        resourceType: 'api_key',
        resourceId: '1',
        action: 'delete',
        clientIp: '::1',
        country: 'NO',
        allowed: false,
      };
      for (const [name, value] of Object.entries(oddOnes)) {
        expect(await ids({ [name]: value }), name).to.equal('r5,r3,r1');
      }
      expect(await ids(oddOnes)).to.equal('r5,r3,r1');
      expect(await ids({ from: now - 2000, to: now - 1000 })).to.equal('r4,r3');
      expect(await ids({ requestId: 'r2' })).to.equal('r2');
      expect((await store.audit.list('another', {}, everything)).total).to.equal(0);

      const exported: string[] = [];
      for await (const row of store.audit.export(organisation, { allowed: true }))
        exported.push(row.requestId);
      expect(exported.join()).to.equal('r0,r2,r4');
    });

    it('gives back what was written, and takes any text', async () => {
      const nasty = `\u0000\ud800 '";--\u{1f600}\r\n`;
      const written = await store.audit.append(
        entryOf(organisation, { uri: nasty, requestBody: nasty, actorName: nasty, resourceId: nasty }),
      );
      const { rows } = await store.audit.list(organisation, {}, everything);
      expect(rows).to.deep.equal([written]);
      expect(await store.audit.verify(organisation)).to.deep.equal({ ok: true, rows: 1 });
    });

    it('replaces a secret by a text that differs between organisations', () => {
      const print = store.audit.fingerprint(organisation, 'sk-canary-0123456789');
      expect(print).to.equal(store.audit.fingerprint(organisation, 'sk-canary-0123456789'));
      expect(print).to.not.equal(store.audit.fingerprint('another', 'sk-canary-0123456789'));
      expect(print).to.not.include('canary');
    });

    it('verifies while it is written to', async () => {
      let writing = true;
      const writer = (async () => {
        while (writing) await store.audit.append(entryOf(organisation));
      })();
      for (let i = 0; i < 20; i++) expect(await store.audit.verify(organisation)).to.include({ ok: true });
      writing = false;
      await writer;
    });

    it('continues after a row that was undone, and after rows of another node', async () => {
      const append = () => store.audit.append(entryOf(organisation));
      const undone = store.unit(organisation, async () => {
        await append();
        throw new Error('not now');
      });
      const other = await open(dataDir);
      await append();
      expect((await Promise.allSettled([undone]))[0]?.status).to.equal('rejected');
      await append();
      for (let i = 0; i < 3; i++) {
        await other.audit.append(entryOf(organisation));
        await append();
      }
      await other.close();
      expect(await store.audit.verify(organisation)).to.deep.equal({ ok: true, rows: 8 });
    });

    describe('when it is set back to an earlier end, with the signature of that time', () => {
      const kept = 20;
      let bare: Database;
      let anchor: AuditAnchor;

      beforeEach(async () => {
        let early: Record<string, unknown> | undefined;
        bare = await database(dataDir);
        const head = (sql: Sql) => sql('audit_heads').where({ organisation_id: organisation });
        for (let i = 0; i < 30; i++) {
          await store.audit.append(entryOf(organisation));
          if (i === kept - 1) early = await bare.read((sql) => head(sql).first());
        }
        anchor = (await store.audit.ends()).find((end) => end.organisation === organisation)!;
        await bare.write(async (sql) => {
          await sql('audit_logs').where({ organisation_id: organisation }).where('seq', '>', kept).delete();
          await head(sql).update({ ...early });
        });
      });
      afterEach(() => bare?.close());

      const refused = async (to: Store): Promise<void> => {
        const error = await to.audit.append(entryOf(organisation)).then(
          () => null,
          (thrown: GatewayError) => thrown,
        );
        expect(error).to.include({ code: 'store_unavailable' });
        expect(error?.message).to.include('its last rows are gone');
      };

      it('is not appended to by the process that wrote the rows after that', async () => {
        await refused(store);
        expect(await store.audit.ends(), 'nothing to be signed').to.deep.equal([]);
        expect(await store.audit.verify(organisation), 'cannot be seen in the database').to.include({
          ok: true,
        });
      });

      it('is not appended to by a process that has an anchor of a later row', async () => {
        const other = await open(dataDir);
        try {
          other.audit.requireAnchor(other.audit.readAnchor(store.audit.signAnchor(anchor))!);
          await refused(other);
        } finally {
          await other.close();
        }
      });

      it('is found out by an anchor, also where other rows have taken the place of those removed', async () => {
        expect(anchor.seq).to.equal(30);
        const verdict = (rows: Store) => rows.audit.verify(organisation, undefined, [anchor]);
        expect(await verdict(store)).to.deep.equal({ ok: false, seq: kept + 1, reason: 'cut' });
        const other = await open(dataDir);
        try {
          for (let i = 0; i < 15; i++) await other.audit.append(entryOf(organisation));
          expect(await verdict(other)).to.deep.equal({ ok: false, seq: 30, reason: 'anchor' });
        } finally {
          await other.close();
        }
      });
    });

    it('is appended to after a part of a unit of work was undone', async () => {
      await store.unit(organisation, async () => {
        await store.audit.append(entryOf(organisation));
        await appendAndUndo(store, organisation);
      });
      await store.audit.append(entryOf(organisation));
      expect(await store.audit.verify(organisation)).to.deep.equal({ ok: true, rows: 2 });
    });

    describe('when tampered with', () => {
      const rows = 30;
      let bare: Database;
      let audit: SqlAudit;

      beforeEach(async () => {
        for (let i = 0; i < rows; i++) {
          now += 1000;
          await store.audit.append(entryOf(organisation, { resourceId: `c${i}` }));
        }
        bare = await database(dataDir);
        const keys = new SystemKeys(masterKey, Date.now);
        await keys.load(bare);
        audit = new SqlAudit(bare, new AuditChain(() => keys.audit), Date.now);
      });
      afterEach(() => bare?.close());

      /** What the verifier says of a change that is taken back afterwards. */
      async function verdictOn(change: (sql: Transaction) => Promise<unknown>): Promise<AuditVerdict> {
        let verdict: AuditVerdict | null = null;
        const undo = new Error('undo');
        await bare
          .write(async (sql) => {
            await change(sql);
            verdict = await audit.verify(organisation);
            throw undo;
          })
          .catch((error) => {
            if (error !== undo) throw error;
          });
        if (verdict === null) throw new Error('no verdict');
        return verdict;
      }

      const row = (sql: Transaction, seq: number) =>
        sql('audit_logs').where({ organisation_id: organisation, seq });
      const behind = (sql: Transaction, seq: number) =>
        sql('audit_logs').where({ organisation_id: organisation }).where('seq', '>', seq);
      const head = (sql: Transaction) => sql('audit_heads').where({ organisation_id: organisation });
      const move = (sql: Transaction, from: number, to: number) => row(sql, from).update({ seq: to });

      /** As who has the database and no key could: each row vouches for the one before it again. */
      async function rechain(sql: Transaction): Promise<string> {
        const all: AuditRow[] = await behind(sql, 0).orderBy('seq');
        let previous = genesis;
        for (const one of all) {
          const hash = hashRow({ ...one, previous });
          await row(sql, one.seq).update({ previous, hash });
          previous = hash;
        }
        return previous;
      }

      it('names the first bad row and what was done to it', async () => {
        const bad = (seq: number, reason: string) => ({ ok: false, seq, reason });
        expect(await verdictOn(async () => {})).to.deep.equal({ ok: true, rows });
        expect(await verdictOn((sql) => row(sql, 7).update({ action: 'delete' }))).to.deep.equal(
          bad(7, 'edited'),
        );
        expect(await verdictOn((sql) => row(sql, 7).delete())).to.deep.equal(bad(7, 'deleted'));
        expect(await verdictOn((sql) => behind(sql, 20).delete())).to.deep.equal(bad(21, 'cut'));
        expect(await verdictOn((sql) => behind(sql, 0).delete())).to.deep.equal(bad(1, 'cut'));
        expect(
          await verdictOn(async (sql) => {
            await move(sql, 9, 1000);
            await move(sql, 12, 9);
            await move(sql, 1000, 12);
          }),
        ).to.deep.equal(bad(9, 'reordered'));
        expect(
          await verdictOn(async (sql) => {
            await row(sql, 9).delete();
            for (let seq = 10; seq <= rows; seq++) await move(sql, seq, seq - 1);
          }),
          'deleted and numbered anew',
        ).to.deep.equal(bad(9, 'deleted'));
        expect(
          await verdictOn(async (sql) => {
            const last: AuditRow = await row(sql, rows).first();
            const next = { ...last, seq: rows + 1, previous: last.hash };
            await sql('audit_logs').insert({ ...next, hash: hashRow(next) });
          }),
        ).to.deep.equal(bad(rows + 1, 'added'));
      });

      it('is detected where the whole chain is rewritten without the key', async () => {
        const last = { ok: false, seq: rows, reason: 'head' };
        expect(
          await verdictOn(async (sql) => {
            await row(sql, 3).update({ actor_name: 'Somebody else' });
            await rechain(sql);
          }),
        ).to.deep.equal(last);
        expect(
          await verdictOn(async (sql) => {
            await row(sql, 3).update({ actor_name: 'Somebody else' });
            await head(sql).update({ hash: await rechain(sql) });
          }),
        ).to.deep.equal(last);
        expect(
          await verdictOn(async (sql) => {
            await behind(sql, 20).delete();
            const end: AuditRow = await row(sql, 20).first();
            await head(sql).update({ seq: 20, hash: end.hash });
          }),
        ).to.deep.equal({ ok: false, seq: 20, reason: 'head' });
        expect(await verdictOn((sql) => head(sql).delete())).to.deep.equal(last);
        expect(
          await verdictOn(async (sql) => {
            await behind(sql, 0).delete();
            await head(sql).update({ seq: 0, hash: genesis });
          }),
        ).to.deep.equal({ ok: false, seq: 0, reason: 'head' });
      });

      it('lets no random tampering pass', async function () {
        this.timeout(20_000);
        const columns = Object.keys((await bare.read((sql) => row(sql as Transaction, 1).first())) ?? {});
        const values = columns.filter((name) => name !== 'organisation_id' && name !== 'seq');
        const changed = (value: unknown): unknown => {
          if (typeof value === 'number') return value === 0 || value === 1 ? 1 - value : value + 1;
          if (typeof value === 'boolean') return !value;
          return value === null ? 'x' : `${String(value).slice(0, -1)}${String(value).endsWith('0') ? 1 : 0}`;
        };
        const ways: ((sql: Transaction) => Promise<number>)[] = [
          async (sql) => {
            const seq = randomInt(1, rows + 1);
            const column = values[randomInt(values.length)] ?? '';
            const found = await row(sql, seq).first();
            await row(sql, seq).update({ [column]: changed(found[column]) });
            return seq;
          },
          async (sql) => {
            const seq = randomInt(1, rows + 1);
            await row(sql, seq).delete();
            return seq;
          },
          async (sql) => {
            const a = randomInt(1, rows);
            const b = randomInt(a + 1, rows + 1);
            await move(sql, a, 1000);
            await move(sql, b, a);
            await move(sql, 1000, b);
            return a;
          },
          async (sql) => {
            const seq = randomInt(0, rows);
            await behind(sql, seq).delete();
            return seq + 1;
          },
        ];
        const started = performance.now();
        const all = isLong ? 1000 : 200;
        const rounds = dialect === 'postgres' ? all / 10 : all;
        for (let i = 0; i < rounds; i++) {
          let first = 0;
          const verdict = await verdictOn(async (sql) => {
            first = (await ways[i % ways.length]?.(sql)) ?? 0;
          });
          expect(verdict, `round ${i}`).to.include({ ok: false, seq: first });
        }
        expectWithinMs(performance.now() - started, 10_000);
      });
    });
  });
});
