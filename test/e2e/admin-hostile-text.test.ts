import { expect } from 'chai';
import { adminTree } from '../../proto/tree.js';
import { type AdminPlane, startPlane } from '../support/admin-plane.js';
import { type CliBench, startCliBench } from '../support/cli-bench.js';
import { folder, forEachStoreInWhole } from '../support/stores.js';

const hostile = [
  "' OR 1=1--",
  '"; DROP TABLE configs;--',
  '%',
  '_',
  '\\',
  '\\%',
  '%'.repeat(10_000),
  '_'.repeat(10_000),
  "'".repeat(10_000),
  '(NEAR(*"',
  '\u0000',
  '0',
  '-1',
  '9223372036854775808',
  '[object Object]',
  '𝒳\u202e\u2028',
];
/** Every text in every place takes its time: WHOLE_LOAD=true. Else each place gets some, and they take turns. */
const step = process.env['WHOLE_LOAD'] === 'true' ? 1 : 4;

describe('text that means something to a database', function () {
  this.timeout(30_000);

  forEachStoreInWhole(({ open }) => {
    let plane: AdminPlane;

    before(async () => {
      plane = await startPlane({ store: await open(folder()) });
      for (const name of ['a%b', 'axb', 'a_b', 'A\\b', "o'hara"])
        await plane.admin.api.labels.createLabel({ name, workspace_id: 'default' });
    });
    after(() => plane?.close());

    it('is only text, in every place of a path and every field of a query', async () => {
      let tried = 0;
      let place = 0;
      for (const { bindings, request, name, streams } of adminTree().methods.values()) {
        const { verb, path, body } = bindings[0]!;
        if (streams || body !== '' || name === 'Models.GetModelPricing') continue;
        const fields = request.fields.filter(({ kind, apart }) => kind === 'string' && !apart);
        for (const { name: field, jsonName, map } of fields) {
          if (map) continue;
          place++;
          for (const text of hostile.filter((_, i) => (i + place) % step === 0)) {
            const value = encodeURIComponent(text);
            const isPlace = path.includes(`{${field}}`);
            const filled = path
              .replace(`{${field}}`, value)
              .replace(/\{([^}]*)\}/g, (_, other) => (other === 'workspace_id' ? 'default' : 'missing'));
            const query = new URLSearchParams({
              ...(request.field('workspace_id') && { workspace_id: 'default' }),
              ...(name === 'AuditLogs.ListAuditLogs' && {
                start_time: '2020-01-01T00:00:00Z',
                end_time: '2100-01-01T00:00:00Z',
              }),
            });
            if (!isPlace) query.set(jsonName, text);
            const { status, json } = await plane.rest(verb, `${filled}?${query}`);
            const said = `${name} ${field} ${text.slice(0, 20)}: ${JSON.stringify(json).slice(0, 200)}`;
            tried++;
            // The plane of this test has no analytics.
            expect(status, said).to.be.oneOf([
              200,
              400,
              403,
              404,
              ...(name.startsWith('Analytics.') ? [503] : []),
            ]);
            if (isPlace) expect(status, said).to.not.equal(200);
          }
        }
      }
      expect(tried).to.be.above(300);
    });

    it('finds what has it, and nothing else', async () => {
      const found = async (search: string): Promise<string[]> => {
        const { status, json } = await plane.rest(
          'GET',
          `/v1/labels?workspace_id=default&search=${encodeURIComponent(search)}`,
        );
        expect(status).to.equal(200);
        return (json.data as { name: string }[]).map(({ name }) => name).sort();
      };
      expect(await found('%')).to.deep.equal(['a%b']);
      expect(await found('_')).to.deep.equal(['a_b']);
      expect(await found('\\')).to.deep.equal(['A\\b']);
      expect(await found("'")).to.deep.equal(["o'hara"]);
      expect(await found('A%')).to.deep.equal(['a%b']);
      expect(await found("' OR 1=1--")).to.deep.equal([]);
    });

    it('asks for pages that there are, and for none beyond', async () => {
      for (const { bindings, request, name } of adminTree().methods.values()) {
        const { verb, path } = bindings[0]!;
        if (request.field('page_size') === undefined || verb !== 'GET' || path.includes('{')) continue;
        const times = name.startsWith('Audit')
          ? '&start_time=2020-01-01T00:00:00Z&end_time=2100-01-01T00:00:00Z'
          : '';
        const page = async (query: string) => {
          const within = request.field('workspace_id') ? '&workspace_id=default' : '';
          return plane.rest('GET', `${path}?${query}${within}${times}`);
        };
        for (const query of [
          'page_size=-1',
          'current_page=-1',
          'page_size=1.5',
          'page_size=1e9',
          'page_size=99999999999',
        ])
          expect((await page(query)).status, `${name} ${query}`).to.equal(400);
        for (const query of ['current_page=2147483647', 'current_page=2147483647&page_size=1000']) {
          const { status, json } = await page(query);
          expect(status, `${name} ${query} ${JSON.stringify(json)}`).to.be.oneOf([200, 400]);
          if (status === 200) expect(json.data ?? json.records ?? [], name).to.deep.equal([]);
        }
        expect((await page('page_size=2147483647')).status, name).to.be.oneOf([200, 400]);
      }
    });
  });
});

describe('text that means something to a terminal or a spreadsheet', () => {
  let bench: CliBench;
  const evil = '=cmd|\'/C calc\'!A0\r\n\u001b[2J{"level":"error"}\u0007\t\u202eend';

  before(async () => {
    bench = await startCliBench();
  });
  after(() => bench.close());

  it('is refused in names, or shown without its effect', async () => {
    const { api } = bench.plane.admin;
    const { id, key } = await api.apiKeys.createApiKey({
      type: 'organisation',
      sub_type: 'service',
      name: evil,
      scopes: ['workspaces.list', 'organisation_users.list', 'organisation_users.create'],
    });
    await api.labels.createLabel({ name: 'plain', description: evil, workspace_id: 'default' });
    await api.collections.createCollection({ name: evil, workspace_id: 'default' });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
    const active = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/;
    for (const typed of [
      'api-keys list',
      `api-keys get ${id}`,
      'collections list --workspace default',
      'labels list --workspace default',
    ]) {
      const { code, stdout } = await bench.type(typed);
      expect(code, typed).to.equal(0);
      expect(active.test(stdout), typed).to.equal(false);
      expect(
        stdout.split('\n').filter((line) => line.startsWith('{')),
        typed,
      ).to.deep.equal([]);
    }
    // It acts, so that its name is in the audit log.
    await bench.plane.rest(
      'POST',
      '/v1/admin/users',
      { email: 'a@example.com', role: 'member' },
      { key, headers: { 'user-agent': '=cmd|agent' } },
    );
    const times = 'start_time=2020-01-01T00:00:00Z&end_time=2100-01-01T00:00:00Z';
    const { json: csv } = await bench.plane.rest('GET', `/v1/audit-logs/export?format=csv&${times}`);
    expect(csv).to.include("'=cmd|");
    expect(csv).to.not.match(/(?:^|,)"?=cmd/m);
    const { json: lines } = await bench.plane.rest('GET', `/v1/audit-logs/export?format=jsonl&${times}`);
    for (const line of (lines as string).trimEnd().split('\n'))
      expect(JSON.parse(line)).to.include.keys('seq');
    for (const line of bench.plane.logged) expect(line).to.not.include('\n');
  });
});
