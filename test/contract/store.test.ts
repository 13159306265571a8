import { randomBytes } from 'node:crypto';
import { copyFileSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { isGatewayKey } from '../../src/common/access/gateway-key.js';
import { scopesOf } from '../../src/common/access/scopes.js';
import { Secret } from '../../src/common/access/secret.js';
import { GatewayError } from '../../src/common/core/errors.js';
import { bootstrap } from '../../src/control-plane/store/bootstrap.js';
import { RefusedStart } from '../../src/control-plane/store/files/refused-start.js';
import type { Migration } from '../../src/control-plane/store/migrations/migration.js';
import { MasterKey } from '../../src/control-plane/store/secrets/master-key.js';
import { openSqlite } from '../../src/control-plane/store/sql/connection/sqlite.js';
import { DataKeys } from '../../src/control-plane/store/sql/keys/data-keys.js';
import { SystemKeys } from '../../src/control-plane/store/sql/keys/system-keys.js';
import { migrate } from '../../src/control-plane/store/sql/migrate.js';
import { AuditChain } from '../../src/control-plane/store/sql/records/audit-chain.js';
import { openStore, type Place, type Store } from '../../src/control-plane/store/store.js';
import { folder, forEachStore, masterKey } from '../support/stores.js';
import { expectWithinMs } from '../support/time-limits.js';

const everything = { offset: 0, limit: 1000 };

function here<T>(value: T | 'missing' | 'taken' | 'stale' | null): T {
  if (value === 'missing' || value === 'taken' || value === 'stale' || value === null)
    throw new Error(`got ${value}`);
  return value;
}

describe('the store', () => {
  forEachStore(({ open }) => {
    let store: Store;
    let dataDir: string;
    let place: Place;
    let other: Place;
    let now = 1_800_000_000_000;

    before(async () => {
      dataDir = folder();
      store = await open(dataDir, () => now);
      const first = here(await bootstrap(store, { dataDir, simulated: false }));
      place = { organisationId: first.organisation_id, workspaceId: first.workspace_id };
      const workspace = here(
        await store.workspaces.create(place.organisationId, { name: 'Two', slug: 'two' }),
      );
      other = { organisationId: place.organisationId, workspaceId: workspace.id };
    });
    after(() => store.close());

    const foreign = (): Place => ({ organisationId: 'another', workspaceId: place.workspaceId });

    describe('keys', () => {
      it('are found by the hash of their text and by nothing else', async () => {
        const { key, text, hash } = here(
          await store.keys.create(place.organisationId, {
            type: 'workspace-service',
            workspaceId: place.workspaceId,
            name: 'app',
            scopes: ['completions.write'],
            defaults: { configId: 'pc-x', allowConfigOverride: false, metadata: { team: 'a' } },
            expiresAt: now + 1000,
          }),
        );
        expect(isGatewayKey(text.reveal())).to.equal(true);
        expect(store.hashKey(text.reveal())).to.equal(hash);
        expect(await store.keys.findByHash(hash)).to.deep.equal({
          organisationId: place.organisationId,
          workspaceId: place.workspaceId,
          keyId: key.id,
          keyName: 'app',
          keyType: 'workspace-service',
          userId: null,
          scopes: ['completions.write'],
          expiresAt: now + 1000,
          blockInline: false,
          defaults: { configId: 'pc-x', allowConfigOverride: false, metadata: { team: 'a' } },
        });
        expect(await store.keys.findByHash(text.reveal())).to.equal(null);
        expect(JSON.stringify(key)).to.not.include(text.reveal().slice(6, 20)).and.not.include(hash);
      });

      it('are gone, by hash and by id, once deleted', async () => {
        const { key, hash } = here(
          await store.keys.create(place.organisationId, {
            type: 'organisation-service',
            workspaceId: null,
            name: 'gone',
            scopes: ['configs.list'],
          }),
        );
        expect(await store.keys.delete('another', key.id)).to.equal('missing');
        expect(await store.keys.findByHash(hash)).to.not.equal(null);
        expect(here(await store.keys.delete(place.organisationId, key.id)).hashes).to.deep.equal([hash]);
        expect(await store.keys.delete(place.organisationId, key.id)).to.equal('missing');
        expect(await store.keys.findByHash(hash)).to.equal(null);
        expect(await store.keys.get(place.organisationId, key.id)).to.equal(null);
      });

      it('are listed by workspace, type and status, newest first, in pages', async () => {
        const made: string[] = [];
        for (let i = 0; i < 5; i++) {
          now += 1000;
          const input = { type: 'workspace-service', workspaceId: other.workspaceId, scopes: [] } as const;
          const expiresAt = i === 0 ? now + 500 : null;
          made.unshift(
            here(await store.keys.create(place.organisationId, { ...input, name: `k${i}`, expiresAt })).key
              .id,
          );
        }
        const filter = { workspaceId: other.workspaceId };
        const ids = async (more: object, page = everything): Promise<string[]> =>
          (await store.keys.list(place.organisationId, { ...filter, ...more }, page)).rows.map((k) => k.id);
        expect(await ids({})).to.deep.equal(made);
        expect(await ids({}, { offset: 2, limit: 2 })).to.deep.equal(made.slice(2, 4));
        expect(await ids({ status: ['expired'] })).to.deep.equal(made.slice(4));
        expect(await ids({ status: ['active'] })).to.deep.equal(made.slice(0, 4));
        expect(await ids({ status: ['active', 'expired'] })).to.have.length(5);
        expect(await ids({ types: ['workspace-user'] })).to.deep.equal([]);
        expect((await store.keys.list(place.organisationId, filter, { offset: 0, limit: 1 })).total).to.equal(
          5,
        );
        expect((await store.keys.list('another', filter, everything)).total).to.equal(0);
      });

      it('cannot be made in a workspace of another organisation', async () => {
        const input = {
          type: 'workspace-service',
          workspaceId: place.workspaceId,
          name: 'x',
          scopes: [],
        } as const;
        expect(await store.keys.create('another', input)).to.equal('missing');
      });
    });

    describe('providers', () => {
      const credential = new Secret('sk-live-canary-0123456789');

      it('keep a credential sealed and hand it out opened', async () => {
        const made = here(
          await store.providers.create(place, {
            slug: 'main',
            name: 'Main',
            provider: 'openai',
            credential,
            baseUrl: 'https://llm.example/v1',
          }),
        );
        expect(made.maskedKey).to.equal('sk*****789');
        expect(JSON.stringify(made)).to.not.include('canary');
        expect(await store.providers.find(place.workspaceId, 'main')).to.deep.equal({
          id: made.id,
          slug: 'main',
          workspaceId: place.workspaceId,
          provider: 'openai',
          credential: credential.reveal(),
          baseUrl: 'https://llm.example/v1',
          hostTrusted: true,
          headers: [],
          fields: {},
          secrets: {},
          expiresAt: null,
          unresolved: [],
          integration: null,
          models: null,
        });
        for (const file of readdirSync(dataDir)) {
          expect(readFileSync(join(dataDir, file)).includes('canary'), file).to.equal(false);
        }
      });

      it('have a slug of their own within a workspace, and only there', async () => {
        const input = { slug: 'twice', name: 'T', provider: 'openai', credential: null };
        here(await store.providers.create(place, input));
        expect(await store.providers.create(place, input)).to.equal('taken');
        here(await store.providers.create(other, { ...input, provider: 'anthropic' }));
        expect((await store.providers.find(other.workspaceId, 'twice'))?.provider).to.equal('anthropic');
        expect((await store.providers.find(place.workspaceId, 'twice'))?.provider).to.equal('openai');
        expect(await store.providers.create(foreign(), input)).to.equal('missing');
      });

      it('are reached from their own organisation alone', async () => {
        here(
          await store.providers.create(place, {
            slug: 'mine',
            name: 'M',
            provider: 'openai',
            credential: null,
          }),
        );
        expect(await store.providers.get(foreign(), 'mine')).to.equal(null);
        expect(await store.providers.delete(foreign(), 'mine')).to.equal('missing');
        expect((await store.providers.list(foreign(), everything)).rows).to.deep.equal([]);
        expect(here(await store.providers.delete(place, 'mine')).slug).to.equal('mine');
        expect(await store.providers.find(place.workspaceId, 'mine')).to.equal(null);
      });

      it('made for a base URL at run time are not offered without one', async () => {
        const input = { name: 'S', provider: 'openai', credential: null };
        here(await store.providers.create(place, { ...input, slug: 'local', baseUrlAtRunTime: true }));
        here(await store.providers.create(other, { ...input, slug: 'local' }));
        expect(await store.providers.find(place.workspaceId, 'local')).to.equal(null);
        store.providers.setRuntimeBaseUrl('local', 'http://127.0.0.1:9/v1');
        expect((await store.providers.find(place.workspaceId, 'local'))?.baseUrl).to.equal(
          'http://127.0.0.1:9/v1',
        );
        expect((await store.providers.find(other.workspaceId, 'local'))?.baseUrl).to.equal(null);
      });
    });

    describe('configs', () => {
      it('keep every version; the newest text is the one in force', async () => {
        const made = here(
          await store.configs.create(place, { name: 'Fäst models!', text: '{"a":1}', by: 'me' }),
        );
        expect(made.slug).to.match(/^pc-fa-?st-models-[0-9a-f]{6}$/);
        const before = await store.configs.find(place.workspaceId, made.slug);
        const changed = here(await store.configs.update(place, made.slug, { text: '{"a":2}', by: 'you' }));
        expect(changed).to.include({ id: made.id, slug: made.slug, ownerId: 'me', updatedBy: 'you' });
        const found = await store.configs.find(place.workspaceId, made.id);
        expect(found).to.deep.equal({ slug: made.slug, version: changed.versionId, text: '{"a":2}' });
        expect(found?.version).to.not.equal(before?.version);
        here(await store.configs.update(place, made.id, { name: 'Renamed' }));
        expect((await store.configs.get(place, made.slug))?.name).to.equal('Renamed');
        const { total, rows: versions } = await store.configs.versions(place, made.id, everything);
        expect(total).to.equal(2);
        expect(versions.map(({ number, text, createdBy }) => [number, text, createdBy])).to.deep.equal([
          [2, '{"a":2}', 'you'],
          [1, '{"a":1}', 'me'],
        ]);
        const [, oldest] = versions;
        expect(await store.configs.version(place, made.id, oldest?.id ?? '')).to.deep.equal(oldest);
        for (const elsewhere of [other, foreign()]) {
          expect((await store.configs.versions(elsewhere, made.id, everything)).total).to.equal(0);
          expect(await store.configs.version(elsewhere, made.id, oldest?.id ?? '')).to.equal(null);
        }
      });

      it('are found by no call once archived, and again once restored', async () => {
        const { slug } = here(await store.configs.create(place, { name: 'old', text: '{}' }));
        expect(await store.configs.delete(foreign(), slug)).to.equal('missing');
        here(await store.configs.delete(place, slug));
        expect(await store.configs.find(place.workspaceId, slug)).to.equal(null);
        expect((await store.configs.list(place, everything)).rows.map((c) => c.slug)).to.not.include(slug);
        expect((await store.configs.get(place, slug))?.status).to.equal('archived');
        here(await store.configs.update(place, slug, { status: 'active' }));
        expect(await store.configs.find(place.workspaceId, slug)).to.not.equal(null);
      });

      it('leave their slug to others once archived, and come back only while it is free', async () => {
        const old = here(await store.configs.create(place, { name: 'old', slug: 'pc-free', text: '{}' }));
        expect(await store.configs.create(place, { name: 'x', slug: 'pc-free', text: '{}' })).to.equal(
          'taken',
        );
        here(await store.configs.delete(place, old.id));
        expect(await store.configs.delete(place, old.id)).to.equal('missing');
        const next = here(await store.configs.create(place, { name: 'new', slug: 'pc-free', text: '{}' }));
        expect((await store.configs.get(place, 'pc-free'))?.id).to.equal(next.id);
        expect((await store.configs.get(place, old.id))?.id).to.equal(old.id);
        expect(await store.configs.update(place, old.id, { status: 'active' })).to.equal('taken');
        here(await store.configs.delete(place, 'pc-free'));
        here(await store.configs.update(place, old.id, { status: 'active' }));
        expect((await store.configs.get(place, 'pc-free'))?.id).to.equal(old.id);
        expect(await store.configs.workspacesWith(place.organisationId, 'pc-free')).to.deep.equal([
          place.workspaceId,
        ]);
        expect(await store.configs.workspacesWith('another', 'pc-free')).to.deep.equal([]);
      });

      it('have one default a workspace, which ends when it is archived', async () => {
        const make = async (at: Place) =>
          here(await store.configs.create(at, { name: 'd', text: '{}', isDefault: true }));
        const [first, elsewhere] = [await make(place), await make(other)];
        const second = await make(place);
        const dropped = await store.configs.dropDefault(place, second.id);
        expect(dropped.map(({ id, isDefault }) => [id, isDefault])).to.deep.equal([[first.id, false]]);
        expect(dropped[0]?.etag).to.not.equal(first.etag);
        expect((await store.configs.get(other, elsewhere.id))?.isDefault).to.equal(true);
        expect(here(await store.configs.delete(place, second.id)).isDefault).to.equal(false);
      });

      it('are found in their own workspace alone', async () => {
        const { slug, id } = here(await store.configs.create(place, { name: 'mine', text: '{}' }));
        for (const name of [slug, id]) {
          expect(await store.configs.find(other.workspaceId, name)).to.equal(null);
          expect(await store.configs.get(other, name)).to.equal(null);
          expect(await store.configs.get(foreign(), name)).to.equal(null);
        }
        expect(await store.configs.create(foreign(), { name: 'x', text: '{}' })).to.equal('missing');
      });
    });

    it('takes any text as text', async () => {
      const nasty = `'); DROP TABLE providers; --"\`?:name \u{1f600}`;
      here(
        await store.providers.create(place, { slug: nasty, name: nasty, provider: nasty, credential: null }),
      );
      expect((await store.providers.find(place.workspaceId, nasty))?.provider).to.equal(nasty);
      expect(await store.keys.findByHash(nasty)).to.equal(null);
      expect(await store.workspaces.get(place.organisationId, nasty)).to.equal(null);
    });

    it('finds nothing by a name with a NUL, which no name has', async () => {
      expect(await store.providers.find(place.workspaceId, 'a\0')).to.equal(null);
      expect(await store.configs.find(place.workspaceId, 'a\0')).to.equal(null);
    });

    it('answers lookups while writes run, both within their time', async () => {
      const { hash } = here(
        await store.keys.create(place.organisationId, {
          type: 'workspace-service',
          workspaceId: place.workspaceId,
          name: 'k',
          scopes: scopesOf('workspace-service'),
        }),
      );
      const writes = Promise.all(
        Array.from({ length: 50 }, (_, i) => store.configs.create(place, { name: `c${i}`, text: '{}' })),
      );
      const times: number[] = [];
      for (let i = 0; i < 200; i++) {
        const start = performance.now();
        expect(await store.keys.findByHash(hash)).to.not.equal(null);
        times.push(performance.now() - start);
      }
      await writes;
      times.sort((a, b) => a - b);
      // The aim is 2 ms; a shared machine is given room.
      expectWithinMs(times[100]!, 10, { what: 'half of the lookups' });
    });

    it('has everything acknowledged, and no second set of keys, after it is opened again', async () => {
      const mine = folder();
      let again = await open(mine, () => now);
      const first = here(await bootstrap(again, { dataDir: mine, simulated: true }));
      const at = { organisationId: first.organisation_id, workspaceId: first.workspace_id };
      const config = here(await again.configs.create(at, { name: 'c', text: '{"x":1}' }));
      await again.close();

      again = await open(mine, () => now);
      expect(await bootstrap(again, { dataDir: mine, simulated: true })).to.equal(null);
      expect(await again.first()).to.deep.equal(at);
      expect((await again.configs.find(at.workspaceId, config.slug))?.text).to.equal('{"x":1}');
      expect((await again.keys.list(at.organisationId, {}, everything)).total).to.equal(2);
      for (const text of [first.admin_key, first.workspace_key]) {
        expect(await again.keys.findByHash(again.hashKey(text))).to.not.equal(null);
      }
      again.providers.setRuntimeBaseUrl('simulated', 'http://127.0.0.1:1/v1');
      expect(await again.providers.find(at.workspaceId, 'simulated')).to.include({
        provider: 'openai',
        baseUrl: 'http://127.0.0.1:1/v1',
      });
      expect((await again.providers.list(at, everything)).total).to.equal(1);
      await again.close();
    });
  });
});

describe('the first start', () => {
  it('writes its keys for their owner alone', async () => {
    const dataDir = folder();
    const store = await openStore({ dataDir, masterKey });
    const first = await bootstrap(store, { dataDir, simulated: false });
    const path = join(dataDir, 'first-keys.json');
    expect(JSON.parse(readFileSync(path, 'utf8'))).to.deep.equal(first);
    expect(first).to.have.all.keys('admin_key', 'workspace_key', 'organisation_id', 'workspace_id');
    const admin = await store.keys.findByHash(store.hashKey(first?.admin_key ?? ''));
    expect(admin).to.include({ keyType: 'organisation-service', workspaceId: null });
    const workspace = await store.keys.findByHash(store.hashKey(first?.workspace_key ?? ''));
    expect(workspace).to.include({ keyType: 'workspace-service', workspaceId: first?.workspace_id });
    expect(workspace?.scopes).to.include('completions.write');
    for (const file of ['first-keys.json', 'headgate.db', 'headgate.db-wal']) {
      expect(statSync(join(dataDir, file)).mode & 0o777, file).to.equal(0o600);
    }
    await store.close();
  });

  it('that dies between its file and its commit is made good by the next', async () => {
    const dataDir = folder();
    let store = await openStore({ dataDir, masterKey });
    let lost = '';
    const dies = store.establish((first) => {
      lost = first.admin_key;
      writeFileSync(join(dataDir, 'first-keys.json'), JSON.stringify(first));
      throw new Error('killed here');
    });
    await dies.then(
      () => expect.fail('must not succeed'),
      (error: Error) => expect(error.message).to.equal('killed here'),
    );
    expect(await store.first()).to.equal(null);
    await store.close();

    store = await openStore({ dataDir, masterKey });
    const first = here(await bootstrap(store, { dataDir, simulated: false }));
    expect(JSON.parse(readFileSync(join(dataDir, 'first-keys.json'), 'utf8'))).to.deep.equal(first);
    expect(await store.keys.findByHash(store.hashKey(lost))).to.equal(null);
    expect((await store.keys.list(first.organisation_id, {}, everything)).total).to.equal(2);
    await store.close();
  });

  it('of two at once makes one set of keys', async () => {
    const dataDir = folder();
    const [a, b] = await Promise.all([openStore({ dataDir, masterKey }), openStore({ dataDir, masterKey })]);
    const made = await Promise.all([a, b].map((store) => bootstrap(store, { dataDir, simulated: true })));
    const first = made.filter((keys) => keys !== null);
    expect(first).to.have.length(1);
    expect(JSON.parse(readFileSync(join(dataDir, 'first-keys.json'), 'utf8'))).to.deep.equal(first[0]);
    await Promise.all([a.close(), b.close()]);
  });
});

describe('the SQLite store', () => {
  const refusal = (work: Promise<unknown>): Promise<Error> =>
    work.then(
      () => expect.fail('must be refused'),
      (error: Error) => error,
    );

  it('is refused under another master key, in one line that names no secret', async () => {
    const dataDir = folder();
    await (await openStore({ dataDir, masterKey })).close();
    const error = await refusal(openStore({ dataDir, masterKey: new MasterKey(randomBytes(32)) }));
    expect(error).to.be.instanceOf(RefusedStart);
    expect(error.message).to.match(/^The master key is not the one that .+\.$/);
    await (await openStore({ dataDir, masterKey })).close();
  });

  it('is refused when newer than the program, when damaged, and when it cannot be written', async () => {
    const newer = folder();
    await (await openStore({ dataDir: newer, masterKey })).close();
    const database = await openSqlite(newer);
    await database.write((sql) =>
      sql('schema_version').insert({ version: 999, name: 'later', applied_at: 0 }),
    );
    await database.close();
    expect((await refusal(openStore({ dataDir: newer, masterKey }))).message).to.match(/at version 999/);

    const damaged = folder();
    writeFileSync(join(damaged, 'headgate.db'), randomBytes(8192));
    const error = await refusal(openStore({ dataDir: damaged, masterKey }));
    expect(error).to.be.instanceOf(RefusedStart);
    expect(error.message).to.include('SQLITE_NOTADB');

    const file = join(folder(), 'file');
    writeFileSync(file, '');
    expect(await refusal(openStore({ dataDir: join(file, 'data'), masterKey }))).to.be.instanceOf(
      RefusedStart,
    );
  });

  it('opens no credential of a row that was exchanged with another', async () => {
    const dataDir = folder();
    const store = await openStore({ dataDir, masterKey });
    await bootstrap(store, { dataDir, simulated: false });
    const place = here(await store.first());
    for (const slug of ['a', 'b']) {
      const credential = new Secret(`secret of ${slug} 0123456789`);
      await store.providers.create(place, { slug, name: slug, provider: 'openai', credential });
    }
    const database = await openSqlite(dataDir);
    await database.write(async (sql) => {
      const [a, b] = await sql('providers').orderBy('slug').select('id', 'credential');
      await sql('providers').where({ id: a.id }).update({ credential: b.credential });
      await sql('providers').where({ id: b.id }).update({ credential: a.credential });
    });
    await database.close();
    const error = await refusal(store.providers.find(place.workspaceId, 'a'));
    expect(error.message).to.include('does not open').and.not.include('secret of');
    await store.close();
  });

  it('that dies within a migration takes it up again from the last complete step', async () => {
    const dataDir = folder();
    let survives = false;
    const steps: Migration[] = [
      {
        version: 1,
        name: 'one',
        kind: 'expand',
        up: (sql) => sql.schema.createTable('one', (t) => t.string('id')),
      },
      {
        version: 2,
        name: 'two',
        kind: 'expand',
        up: async (sql) => {
          await sql.schema.createTable('two', (t) => t.string('id'));
          if (!survives) throw new Error('killed here');
        },
      },
    ];
    const database = await openSqlite(dataDir);
    const systemKeys = new SystemKeys(masterKey, Date.now);
    const chain = new AuditChain(() => systemKeys.audit);
    const dataKeys = new DataKeys(masterKey, Date.now);
    const context = { storeName: 'test', systemKeys, dataKeys, chain };
    const tables = (): Promise<string[]> =>
      database.read((sql) => sql('sqlite_schema').where({ type: 'table' }).orderBy('name').pluck('name'));
    await refusal(migrate(database, steps, context, Date.now));
    expect(await tables()).to.deep.equal(['one', 'schema_version']);
    survives = true;
    await migrate(database, steps, context, Date.now);
    await migrate(database, steps, context, Date.now);
    expect(await tables()).to.deep.equal(['one', 'schema_version', 'two']);
    await database.close();
  });

  it('on a full disk refuses writes with a code, goes on reading, and recovers', async () => {
    const dataDir = folder();
    const store = await openStore({ dataDir, masterKey });
    await bootstrap(store, { dataDir, simulated: false });
    const place = here(await store.first());
    const database = await openSqlite(dataDir);
    const [{ page_count }] = await database.read((sql) => sql.raw('PRAGMA page_count'));
    await database.close();
    const writer = (store as unknown as { database: { write: (work: unknown) => Promise<unknown> } })
      .database;
    const setMax = (pages: number): Promise<unknown> =>
      writer.write((sql: { raw(text: string): Promise<unknown> }) =>
        sql.raw(`PRAGMA max_page_count = ${pages}`),
      );
    await setMax(page_count + 2);
    const text = JSON.stringify({ filler: 'x'.repeat(100_000) });
    const error = await refusal(store.configs.create(place, { name: 'big', text }));
    expect(error).to.be.instanceOf(GatewayError);
    expect(error).to.include({ code: 'store_unavailable' });
    expect(error.message).to.include('disk');
    expect(String(error.cause)).to.not.include('filler');
    expect((await store.configs.list(place, everything)).total).to.equal(0);
    await setMax(1_000_000);
    here(await store.configs.create(place, { name: 'big', text }));
    await store.close();
  });

  it('copied without its master key gives away no key text and no credential', async () => {
    const dataDir = folder();
    const copy = folder();
    const store = await openStore({ dataDir, masterKey });
    const first = here(await bootstrap(store, { dataDir, simulated: false }));
    await store.providers.create(here(await store.first()), {
      slug: 's',
      name: 's',
      provider: 'openai',
      credential: new Secret('sk-canary-9876543210'),
    });
    await store.close();
    copyFileSync(join(dataDir, 'headgate.db'), join(copy, 'headgate.db'));
    const bytes = readFileSync(join(copy, 'headgate.db'));
    for (const secret of ['sk-canary-9876543210', first.admin_key, first.workspace_key]) {
      expect(bytes.includes(secret)).to.equal(false);
      expect(bytes.includes(Buffer.from(secret).toString('base64').slice(0, 24))).to.equal(false);
    }
    expect(
      await refusal(openStore({ dataDir: copy, masterKey: new MasterKey(randomBytes(32)) })),
    ).to.be.instanceOf(RefusedStart);
  });
});
