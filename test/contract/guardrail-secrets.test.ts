import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { guardrailChecks } from '../../src/common/guardrails/guardrail-checks.js';
import { bootstrap } from '../../src/control-plane/store/bootstrap.js';
import {
  maskedSecret,
  shownChecks,
  withKeptSecrets,
} from '../../src/control-plane/store/secrets/guardrail-secrets.js';
import { MasterKey } from '../../src/control-plane/store/secrets/master-key.js';
import { SealBroken } from '../../src/control-plane/store/secrets/seal.js';
import {
  type GuardrailActions,
  openStore,
  type Place,
  rotateMasterKey,
  type Store,
  type StoredCheck,
} from '../../src/control-plane/store/store.js';
import { undoNewest } from '../support/older-store.js';
import { folder, forEachStore } from '../support/stores.js';

const secret = 'sk-inside-of-a-check';
const checkOf = (parameters: object, id = 'default.webhook'): StoredCheck => ({
  id,
  parameters: { ...parameters },
  name: null,
  isEnabled: true,
});
const hook = (host: string, token: string): StoredCheck =>
  checkOf({ webhookURL: `https://${host}/in`, headers: { 'X-Token': token }, timeout: 5 });
const shownOf = (...checks: StoredCheck[]): StoredCheck[] => JSON.parse(shownChecks(JSON.stringify(checks))!);
const parametersOf = (checks: readonly StoredCheck[]) => checks.map(({ parameters }) => parameters);

const checks = [
  checkOf({ maxWords: 10 }, 'default.wordCount'),
  checkOf({
    webhookURL: `https://user:${secret}@example.com/in?token=${secret}#${secret}`,
    headers: { Authorization: `Bearer ${secret}` },
  }),
];
const plain = [checkOf({ webhookURL: 'https://example.com/in', timeout: 5 })];
const feedback = { value: 5, weight: 1, metadata: '' };
const actions: GuardrailActions = {
  deny: true,
  async: false,
  sequential: false,
  onSuccess: feedback,
  onFail: feedback,
};

describe('secrets of guardrails', () => {
  it('are the values of headers, and user, query and fragment of URLs', () => {
    expect(parametersOf(shownOf(...checks))).to.deep.equal([
      { maxWords: 10 },
      {
        webhookURL: 'https://*****@example.com/in?*****#*****',
        headers: { Authorization: 'Be*****eck' },
      },
    ]);
    expect(shownChecks(JSON.stringify(plain))).to.equal(null);
    for (const url of ['https:///u:p@h', 'https://a b:p@h', `https://\\u:${secret}@h/?`, 'https://u:p/w@h'])
      expect(JSON.stringify(shownOf(checkOf({ webhookURL: url }))), url).to.not.match(/u:p|b:p|sk-inside/);
  });

  it('are known of every check that takes headers or a URL', () => {
    for (const [id, { parameters }] of guardrailChecks) {
      for (const [name, { type }] of Object.entries(parameters.properties)) {
        if (type === 'boolean' || !/(?:headers|url|uri)$/i.test(name)) continue;
        const value = type === 'object' ? { a: secret } : `https://example.com/?${secret}`;
        const shown = shownChecks(JSON.stringify([checkOf({ [name]: value }, id)]));
        expect(shown, `${id} ${name}`).to.not.equal(null).and.not.include(secret);
      }
    }
  });

  it('are kept where their mask comes back, wherever their check has moved to', () => {
    const [a, b] = [hook('a', 'secret-of-a-xyz'), hook('b', 'secret-of-b-xyz')];
    const [shownA, shownB] = shownOf(a, b) as [StoredCheck, StoredCheck];
    for (const [given, kept] of [
      [
        [shownA, shownB],
        [a, b],
      ],
      [
        [shownB, shownA],
        [b, a],
      ],
      [[shownB], [b]],
    ]) {
      expect(withKeptSecrets(given!, [a, b])).to.deep.equal(kept);
      expect(maskedSecret(given!)).to.equal('checks[0].parameters.headers.X-Token');
    }
    const slower = { ...shownA, parameters: { ...shownA.parameters, timeout: 6 } };
    expect(withKeptSecrets([slower], [a])).to.deep.equal([
      { ...a, parameters: { ...a.parameters, timeout: 6 } },
    ]);
  });

  it('are not guessed: a mask that two of them have, or none, stays a mask', () => {
    const [a, b] = [hook('a', 'short-a'), hook('b', 'short-b')];
    const other = { ...a, parameters: { webhookURL: 'https://c/in', headers: { 'X-Token': '*****' } } };
    expect(withKeptSecrets([other], [a, b])).to.deep.equal([other]);
    expect(maskedSecret([other])).to.equal('checks[0].parameters.headers.X-Token');
    const log = checkOf({ logURL: 'https://a/in', headers: { 'X-Token': '*****' } }, 'default.log');
    expect(withKeptSecrets([log], [a])).to.deep.equal([log]);
    const url = checkOf({ webhookURL: 'https://b.example/in?*****' });
    expect(withKeptSecrets([url], [checkOf({ webhookURL: 'https://a.example/in?x=1' })])).to.deep.equal([
      url,
    ]);
    expect(maskedSecret([url])).to.equal('checks[0].parameters.webhookURL');
  });

  forEachStore(({ open, options, database }) => {
    let dataDir: string;
    let store: Store;
    let place: Place;

    beforeEach(async () => {
      dataDir = folder();
      store = await open(dataDir);
      await bootstrap(store, { dataDir, simulated: false });
      place = (await store.first())!;
    });
    afterEach(() => store.close());

    async function make(its: readonly StoredCheck[]) {
      const { organisationId, workspaceId } = place;
      const input = { name: 'g', checks: its, actions, by: null };
      const made = await store.guardrails.create(organisationId, workspaceId, input);
      if (made === 'missing') throw new Error(made);
      return made;
    }
    const inClear = (id: string) => store.guardrails.open(place.organisationId, id);
    const stored = async (): Promise<string[]> => {
      const bare = await database(dataDir);
      const rows: { checks: string; sealed: Buffer | null }[] = await bare.read((sql) =>
        sql('guardrail_versions').select('checks', 'sealed'),
      );
      await bare.close();
      return rows.map((row) => row.checks + row.sealed?.toString('latin1'));
    };
    const inFiles = (): boolean =>
      readdirSync(dataDir).some((name) => readFileSync(join(dataDir, name)).includes(secret));

    it('are stored sealed, and shown masked', async () => {
      const { id, slug, versionId } = await make(checks);
      expect((await store.guardrails.get(place.organisationId, slug))!.checks).to.deep.equal(
        shownOf(...checks),
      );
      expect(await inClear(slug)).to.deep.equal(checks);
      const again = await store.guardrails.update(place.organisationId, id, { checks, by: null });
      expect(again).to.include({ versionId });
      const changed = { actions: { ...actions, deny: false }, by: null };
      expect(await store.guardrails.update(place.organisationId, id, changed)).to.not.include({ versionId });
      expect(await inClear(id)).to.deep.equal(checks);
      expect(await inClear((await make(plain)).id)).to.deep.equal(plain);
      expect(await inClear('none')).to.equal(null);
      expect((await stored()).join()).to.not.include(secret);
      expect(inFiles()).to.equal(false);
    });

    it('of an older store are sealed when it is opened', async () => {
      const made = [await make(checks), await make(plain)];
      await store.close();
      const bare = await database(dataDir);
      await bare.write(async (sql) => {
        const text = JSON.stringify(checks);
        await sql('guardrail_versions').whereNotNull('sealed').update({ checks: text });
        await sql.schema.alterTable('guardrail_versions', (t) => t.dropColumn('sealed'));
        await undoNewest(sql);
        await sql('schema_version').where('version', '>=', 8).delete();
      });
      await bare.close();
      store = await open(dataDir);
      expect((await stored()).join()).to.not.include(secret);
      for (const [i, its] of [checks, plain].entries()) expect(await inClear(made[i]!.id)).to.deep.equal(its);
      await store.close();
      expect(inFiles()).to.equal(false);
    });

    it('open under the next master key', async () => {
      const { id } = await make(checks);
      await store.close();
      const next = new MasterKey(randomBytes(32));
      await rotateMasterKey(await options(dataDir), next);
      store = await openStore({ ...(await options(dataDir)), masterKey: next });
      expect(await inClear(id)).to.deep.equal(checks);
    });

    it('do not open in the row of another guardrail', async () => {
      const [one, two] = [await make(checks), await make([hook('b', secret)])];
      const bare = await database(dataDir);
      await bare.write(async (sql) => {
        const { sealed } = await sql('guardrail_versions').where({ id: two.versionId }).first();
        await sql('guardrail_versions').where({ id: one.versionId }).update({ sealed });
      });
      await bare.close();
      const error = await inClear(one.id).catch((thrown: unknown) => thrown);
      expect(error).to.be.instanceOf(SealBroken);
    });
  });
});
