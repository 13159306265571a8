import { expect } from 'chai';
import type { ConfigEvent } from '../../proto/messages.js';
import { adminTree } from '../../proto/tree.js';
import { startAdminServer } from '../../src/admin/server.js';
import type { AdminClient } from '../../src/client/index.js';
import { type AdminPlane, refused, startPlane } from '../support/admin-plane.js';
import { eventually } from '../support/gateway.js';

describe('a stream of changes', () => {
  let plane: AdminPlane;
  const config = { retry: { attempts: 1 } };

  before(async () => {
    plane = await startPlane();
  });
  after(() => plane.close());

  /** Reads until `count` events have come that are no `alive`. */
  async function read(stream: AsyncIterable<ConfigEvent>, count: number): Promise<ConfigEvent[]> {
    const seen: ConfigEvent[] = [];
    for await (const event of stream) {
      if (event.action !== 'alive') seen.push(event);
      if (seen.length === count) break;
    }
    return seen;
  }
  const watch = (client: AdminClient, token?: string): AsyncIterable<ConfigEvent> =>
    client.api.watch.watchConfig({ ...(token !== undefined && { token }) });
  const make = async (name: string, workspace_id = 'default'): Promise<string> =>
    (await plane.admin.configs.create({ name, config, workspace_id })).data.slug;
  const now = async (client: AdminClient): Promise<string> => (await read(watch(client), 1))[0]!.token;

  it('tells what is made, changed and deleted, in that order', async () => {
    const stream = watch(plane.admin)[Symbol.asyncIterator]();
    expect((await stream.next()).value).to.include({ action: 'start' });
    const slug = await make('watched');
    await plane.admin.configs.update(slug, { name: 'renamed', workspace_id: 'default' });
    await plane.admin.configs.delete(slug, 'default');
    const seen = await read({ [Symbol.asyncIterator]: () => stream }, 3);
    expect(seen.map((one) => [one.action, one.kind, one.slug])).to.deep.equal([
      ['create', 'config', slug],
      ['update', 'config', slug],
      ['delete', 'config', slug],
    ]);
    expect(seen[0]).to.include({ workspace_id: plane.first.workspace_id });
    expect(Date.parse(seen[0]!.at)).to.be.closeTo(Date.now(), 5000);
  });

  it('goes on where a token says, however long nobody listened', async () => {
    const token = await now(plane.admin);
    const slugs = [await make('one'), await make('two'), await make('three')];
    const [start, first, second] = await read(watch(plane.admin, token), 3);
    expect(start).to.include({ action: 'start', token });
    expect([first?.slug, second?.slug]).to.deep.equal(slugs.slice(0, 2));
    const rest = await read(watch(plane.admin, second?.token), 2);
    expect(rest.map((one) => one.slug ?? one.action)).to.deep.equal(['start', slugs[2]]);
  });

  it('tells more than one piece of changes without a gap', async function () {
    this.timeout(20_000);
    const token = await now(plane.admin);
    const { organisation_id: organisationId, workspace_id: workspaceId } = plane.first;
    await plane.store.unit(organisationId, async () => {
      for (let i = 0; i < 1100; i++)
        await plane.store.changes.append({
          ...{ organisationId, workspaceId, kind: 'config', id: `c${i}`, slug: null, action: 'update' },
        });
    });
    const seen = await read(watch(plane.admin, token), 1101);
    expect(seen.slice(1).map(({ id }) => id)).to.deep.equal(Array.from({ length: 1100 }, (_, i) => `c${i}`));
  });

  it('shows a workspace key its own workspace alone, and a key what it may list', async () => {
    const { key } = await plane.admin.keys.create({
      type: 'workspace',
      sub_type: 'service',
      name: 'configs alone',
      scopes: ['configs.list'],
      workspace_id: 'default',
    });
    const limited = plane.client(key);
    const token = await now(limited);
    await make('elsewhere', 'other');
    await plane.admin.providers.create({ slug: 'unseen', provider: 'openai', workspace_id: 'default' });
    const mine = await make('mine');
    const [, seen] = await read(watch(limited, token), 2);
    expect(seen).to.include({ kind: 'config', slug: mine });
    const all = await read(watch(plane.admin, token), 4);
    expect(all.slice(1).map(({ kind }) => kind)).to.deep.equal(['config', 'provider', 'config']);
  });

  it('says that everything must be read anew, where the token is too old or of another store', async () => {
    const [reset] = await read(watch(plane.admin, 'tzzzzzz'), 1);
    expect(reset).to.include({ action: 'reset' });
    const slug = await make('afterwards');
    const after = await read(watch(plane.admin, reset?.token), 2);
    expect(after[1]).to.include({ slug });
    await refused(read(watch(plane.admin, 'nonsense'), 1), 'INVALID_ARGUMENT', 'AB01');
  });

  it('ends when its own key is changed: what that key may see must be asked anew', async () => {
    const { key, id } = await plane.admin.keys.create({
      type: 'workspace',
      sub_type: 'service',
      name: 'short-lived',
      scopes: ['configs.list'],
      workspace_id: 'default',
    });
    const client = plane.client(key);
    const reading = read(watch(client), 1000);
    // The stream is open once it has told its start; this change comes after.
    await now(client);
    await plane.admin.keys.delete(id);
    expect((await reading).map(({ action }) => action)).to.deep.equal(['start']);
    await refused(read(watch(client), 1), 'UNAUTHENTICATED', 'AB05');
  });

  it('is opened again by the Node client, where it was, when the gateway has been away', async () => {
    const first = await startPlane();
    const stop = new AbortController();
    const seen: (string | null | undefined)[] = [];
    const following = (async () => {
      for await (const { action, slug } of first.admin.follow({ signal: stop.signal })) {
        seen.push(action === 'create' ? slug : action);
      }
    })();
    await eventually('it is open', async () => seen.length === 1);
    const one = await first.admin.configs.create({ name: 'one', config, workspace_id: 'default' });
    await eventually('it tells', async () => seen.length === 2);
    await first.server.close(100);
    const { organisation_id: organisationId, workspace_id: workspaceId } = first.first;
    await first.store.unit(organisationId, () =>
      first.store.changes.append({
        ...{ organisationId, workspaceId, kind: 'config', id: 'x', slug: 'pc-between', action: 'create' },
      }),
    );
    const again = await startAdminServer({ ...first.options, port: first.server.port });
    await eventually('it tells what it missed', async () => seen.length === 3, 10_000);
    stop.abort();
    await following;
    expect(seen).to.deep.equal(['start', one.data.slug, 'pc-between']);
    await again.close(100);
    await first.close();
  });

  it('is refused to a key that may list nothing, and to nobody', async () => {
    const { key } = await plane.admin.keys.create({
      type: 'workspace',
      sub_type: 'service',
      name: 'models alone',
      scopes: ['completions.write'],
      workspace_id: 'default',
    });
    await refused(read(watch(plane.client(key)), 1), 'PERMISSION_DENIED', 'AB03');
    expect((await plane.rest('GET', '/v1/watch', undefined, { key: null })).status).to.equal(401);
  });

  it('may be asked for with every scope that lists something', () => {
    const methods = [...adminTree().methods.values()];
    const listed = methods
      .filter(({ access }) => access.action === 'list')
      .flatMap(({ access }) => access.scopes)
      .filter((scope) => scope.endsWith('.list') && scope !== 'audit_logs.list');
    const { access } = methods.find(({ name }) => name === 'Watch.WatchConfig')!;
    expect([...access.scopes].sort()).to.deep.equal([...new Set(listed)].sort());
  });
});
