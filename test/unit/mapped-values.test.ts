import { expect } from 'chai';
import type { MappedField, ProviderRecord } from '../../src/common/ipc/records.js';
import { MappedValues } from '../../src/control-plane/secret-references/mapped-values.js';
import type { FetchedSecret } from '../../src/control-plane/secret-references/secret-source.js';

const field = (name: string, more: Partial<MappedField> = {}): MappedField => ({
  field: name,
  named: 'vault-key',
  secretKey: null,
  isJson: false,
  reference: {
    id: 'r',
    revision: 1,
    organisationId: 'o',
    slug: 'vault-key',
    managerType: 'env',
    auth: {},
    secretPath: 'X',
    secretKey: null,
    isAllowed: true,
  },
  ...more,
});

const provider = (mapped: MappedField[], more: Partial<ProviderRecord> = {}): ProviderRecord => ({
  id: 'p',
  slug: 'main',
  workspaceId: 'w',
  provider: 'openai',
  integration: null,
  credential: 'stored',
  baseUrl: null,
  hostTrusted: true,
  headers: [],
  fields: {},
  secrets: {},
  unresolved: [],
  expiresAt: null,
  models: null,
  mapped,
  ...more,
});

describe('Records that get values of secret references', () => {
  let secret: FetchedSecret | null = 'canary';
  let asked = 0;
  const values = new MappedValues(
    {
      async get() {
        asked += 1;
        return secret === null ? { failure: 'its secret manager does not answer' } : { secret };
      },
    },
    () => null,
  );
  const fill = async (mapped: MappedField[], more: Partial<ProviderRecord> = {}): Promise<ProviderRecord> =>
    (await values.fill('provider', 'w', 'main', provider(mapped, more)))!;
  beforeEach(() => {
    secret = 'canary';
    asked = 0;
  });

  it('without mappings are passed on as they are', async () => {
    const { mapped: _, ...record } = provider([]);
    expect(await values.fill('provider', 'w', 'main', record)).to.equal(record);
    expect(await values.fill('provider', 'w', 'main', null)).to.equal(null);
  });

  it('have the value in place of a stored one, and nothing of how it is fetched', async () => {
    const filled = await fill([field('key')]);
    expect(filled).to.include({ credential: 'canary', isMapped: true }).and.not.have.property('mapped');
    expect(filled.unresolved).to.deep.equal([]);
  });

  it('have values of every kind of field', async () => {
    secret = {
      key: ' sk \n',
      host: 'https://llm.example.com/v1/',
      headers: '{"X-Team":"red"}',
      account: { type: 'service_account' },
      number: 7,
    };
    const filled = await fill([
      field('key', { secretKey: 'key' }),
      field('custom_host', { secretKey: 'host' }),
      field('custom_headers', { secretKey: 'headers', isJson: true }),
      field('vertex_service_account_json', { secretKey: 'account' }),
      field('openai_project', { secretKey: 'number' }),
    ]);
    expect(filled.unresolved).to.deep.equal([]);
    expect(filled).to.deep.include({
      credential: 'sk',
      baseUrl: 'https://llm.example.com/v1',
      headers: ['x-team', 'red'],
      secrets: { vertex_service_account_json: '{"type":"service_account"}', openai_project: '7' },
    });
  });

  it('take the key of the mapping before that of the reference, out of JSON text too', async () => {
    secret = '{"a":"of a","b":"of b"}';
    const reference = { ...field('key').reference!, secretKey: 'a' };
    expect((await fill([field('key', { reference })])).credential).to.equal('of a');
    expect((await fill([field('key', { reference, secretKey: 'b' })])).credential).to.equal('of b');
  });

  it('have the only field of a secret where no key picks one', async () => {
    secret = { whatever: 'single' };
    expect((await fill([field('key')])).credential).to.equal('single');
  });

  const faults: readonly (readonly [string, MappedField, FetchedSecret])[] = [
    ['a key that is not there', field('key', { secretKey: 'absent' }), { canary: 'canary' }],
    ['a key of a text', field('key', { secretKey: 'x' }), 'canary'],
    ['no JSON', field('key', { isJson: true }), 'canary {'],
    ['an empty value', field('key'), ' \n'],
    ['several lines', field('key'), 'canary\ncanary'],
    ['null', field('key', { secretKey: 'x' }), { x: null }],
    ['a host that is no URL', field('custom_host'), 'canary'],
    ['headers that are none', field('custom_headers'), '{"x":["canary"]}'],
    ['headers with line breaks', field('custom_headers'), '{"x":"canary\\r\\ny: z"}'],
    ['a reference that is gone', field('key', { reference: null }), 'canary'],
  ];
  for (const [name, mapped, value] of faults) {
    it(`with ${name} have an error without the value, and no value`, async () => {
      secret = value;
      const filled = await fill([mapped], { headers: ['authorization', 'stored'] });
      const [missing] = filled.unresolved;
      expect(missing).to.include({ field: mapped.field, code: 'provider_credential_missing' });
      expect(missing!.message).to.include('vault-key').and.not.include('canary');
      if (mapped.field === 'key') expect(filled.credential).to.equal(null);
      if (mapped.field === 'custom_headers') expect(filled.headers).to.deep.equal([]);
    });
  }

  it('name the reference where its manager gives no value', async () => {
    secret = null;
    const [missing] = (await fill([field('key')])).unresolved;
    expect(missing!.code).to.equal('secret_unavailable');
    expect(missing!.message).to.match(
      /^is mapped to the secret reference vault-key, which has no value: its/,
    );
  });

  it('do not get a value for another workspace, nor for a host that a workspace has set', async () => {
    const reference = { ...field('key').reference!, isAllowed: false };
    const notAllowed = await fill([field('key', { reference })]);
    expect(notAllowed.unresolved[0]!.message).to.include('may not use');
    const foreign = { hostTrusted: false, baseUrl: 'https://elsewhere.example.com' };
    const elsewhere = await fill([field('key')], foreign);
    expect(elsewhere.unresolved[0]!.message).to.include('an address that a key of a workspace has set');
    expect(asked).to.equal(0);
    expect((await fill([field('key')], { hostTrusted: false })).credential).to.equal('canary');
  });

  it('of partners have values as well', async () => {
    const record = { credentials: { apiKey: 'stored', baseUrl: 'https://x' }, mapped: [field('apiKey')] };
    const filled = await values.fill('partner', 'w', 'pillar', record);
    expect(filled!.credentials).to.deep.equal({ apiKey: 'canary', baseUrl: 'https://x' });
  });
});
