import { connect } from 'node:http2';
import { expect } from 'chai';
import type { ConfigEvent } from '../../proto/messages.js';
import { adminTree } from '../../proto/tree.js';
import type { AdminClient } from '../../src/client/index.js';
import { startAdminServer } from '../../src/control-plane/administration/server.js';
import { type AdminPlane, refused, startPlane } from '../support/admin-plane.js';
import { eventually } from '../support/gateway.js';
import { scaled } from '../support/time-limits.js';

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

  it('sends what is created, changed and deleted, in that order', async () => {
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

  it('continues from its token after any pause', async () => {
    const token = await now(plane.admin);
    const slugs = [await make('one'), await make('two'), await make('three')];
    const [start, first, second] = await read(watch(plane.admin, token), 3);
    expect(start).to.include({ action: 'start', token });
    expect([first?.slug, second?.slug]).to.deep.equal(slugs.slice(0, 2));
    const rest = await read(watch(plane.admin, second?.token), 2);
    expect(rest.map((one) => one.slug ?? one.action)).to.deep.equal(['start', slugs[2]]);
  });

  it('sends more than one batch of changes without a gap', async function () {
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

  it('requires a full read where the token is too old or of another store', async () => {
    const [reset] = await read(watch(plane.admin, 'tzzzzzz'), 1);
    expect(reset).to.include({ action: 'reset' });
    const slug = await make('afterwards');
    const after = await read(watch(plane.admin, reset?.token), 2);
    expect(after[1]).to.include({ slug });
    await refused(read(watch(plane.admin, 'nonsense'), 1), 'INVALID_ARGUMENT', 'AB01');
  });

  const workspaceKey = async (name: string, more: object = {}): Promise<{ id: string; key: string }> =>
    plane.admin.keys.create({
      type: 'workspace',
      sub_type: 'service',
      name,
      scopes: ['configs.list'],
      workspace_id: 'default',
      ...more,
    });

  /** A stream that has told its start. */
  async function opened(key: string): Promise<AsyncIterator<ConfigEvent>> {
    const stream = watch(plane.client(key))[Symbol.asyncIterator]();
    expect((await stream.next()).value).to.include({ action: 'start' });
    return stream;
  }

  /** It ends with that refusal, whatever events come before. */
  const isRefused = (stream: AsyncIterator<ConfigEvent>, status = 'UNAUTHENTICATED', code = 'AB05') =>
    refused(read({ [Symbol.asyncIterator]: () => stream }, 1000), status, code);

  it('ends when its own key is changed, whose permissions must be checked again', async () => {
    const { key, id } = await workspaceKey('renamed');
    const stream = await opened(key);
    await plane.admin.api.apiKeys.updateApiKey({ id, name: 'renamed again' });
    const seen = await read({ [Symbol.asyncIterator]: () => stream }, 1000);
    expect(seen).to.deep.equal([]);
  });

  it('ends with an error when its key is deleted, expires or loses its scope', async () => {
    const deleted = await workspaceKey('deleted');
    const expiring = await workspaceKey('expiring', {
      expires_at: new Date(Date.now() + 1000).toISOString(),
    });
    const narrowed = await workspaceKey('narrowed');
    const kept = await workspaceKey('kept');
    const streams = await Promise.all([deleted, expiring, narrowed, kept].map(({ key }) => opened(key)));
    await plane.admin.keys.delete(deleted.id);
    await isRefused(streams[0]!);
    await isRefused(streams[1]!);
    await plane.admin.api.apiKeys.updateApiKey({ id: narrowed.id, scopes: ['completions.write'] });
    await isRefused(streams[2]!, 'PERMISSION_DENIED', 'AB03');
    const slug = await make('for those who stay');
    expect((await streams[3]!.next()).value).to.include({ slug });
    await streams[3]!.return?.();
  });

  it('ends with an error when its workspace is archived', async () => {
    const { id } = await plane.admin.api.workspaces.createWorkspace({ name: 'Short' });
    const { key } = await workspaceKey('of a short one', { workspace_id: id });
    const stream = await opened(key);
    await plane.admin.api.workspaces.deleteWorkspace({ workspace_id: id, name: 'Short', force_delete: true });
    await isRefused(stream);
  });

  it('reports over REST too why it ends', async () => {
    for (const [accept, last] of [
      [
        'application/json',
        /\n\{"success":false,"data":\{"message":"This gateway key.*","errorCode":"AB05"\}\}\n$/,
      ],
      ['text/event-stream', /\n\nevent: error\ndata: \{"success":false,.*"errorCode":"AB05"\}\}\n\n$/],
    ] as const) {
      const { key, id } = await workspaceKey('over REST');
      const reading = plane.rest('GET', '/v1/watch', undefined, { key, headers: { accept } });
      // Another stream that opens later has opened by then.
      await opened(key);
      await plane.admin.keys.delete(id);
      const { status, json } = await reading;
      expect(status).to.equal(200);
      expect(json)
        .to.match(/"action":"start"/)
        .and.match(last);
    }
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

  it('is refused only to a key that may list nothing', async () => {
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

  describe('is limited', () => {
    const streams: AsyncIterator<ConfigEvent>[] = [];
    const open = async (client: AdminClient): Promise<ConfigEvent> => {
      const stream = watch(client)[Symbol.asyncIterator]();
      const { value } = await stream.next();
      streams.push(stream);
      return value;
    };
    const close = async (count: number): Promise<void> => {
      for (const stream of streams.splice(0, count)) await stream.return?.();
    };
    const keyIn = async (workspace_id: string): Promise<AdminClient> => {
      const asked = { type: 'workspace', sub_type: 'service', name: 'watcher' } as const;
      const { key } = await plane.admin.keys.create({ ...asked, scopes: ['logs.list'], workspace_id });
      return plane.client(key);
    };

    afterEach(() => close(streams.length));

    it('to 8 at once for one key, over gRPC and REST together', async () => {
      for (let i = 0; i < 8; i++) expect(await open(plane.admin)).to.include({ action: 'start' });
      const message = await refused(open(plane.admin), 'RESOURCE_EXHAUSTED', 'AB06');
      expect(message).to.equal(
        'This key has 8 streams open, as many as one key may: close one, or try again later.',
      );
      const overRest = await plane.rest('GET', '/v1/watch');
      expect(overRest.status).to.equal(429);
      expect(Number(overRest.headers.get('retry-after'))).to.be.greaterThan(0);
      expect((await plane.rest('GET', '/v1/configs?workspace_id=default')).status).to.equal(200);
      await close(1);
      await eventually('there is room', () =>
        open(plane.admin).then(
          () => true,
          () => false,
        ),
      );
    });

    it('to 32 at once for the keys of one workspace, while another one’s go on', async () => {
      for (let key = 0; key < 4; key++) {
        const client = await keyIn('default');
        for (let i = 0; i < 8; i++) await open(client);
      }
      const message = await refused(open(await keyIn('default')), 'RESOURCE_EXHAUSTED', 'AB06');
      expect(message).to.include('The keys of this workspace have 32 streams open');
      expect(await open(await keyIn('other'))).to.include({ action: 'start' });
    });

    it('in time for a client that reads nothing', async function () {
      this.timeout(20_000);
      const cutting = await startPlane({ writeTimeoutMs: scaled(200) });
      // Not the client of grpc-js: that one takes what comes, whether it is read or not.
      const session = connect(`http://127.0.0.1:${cutting.server.port}`).on('error', () => {});
      const { path } = adminTree().methods.get('Watch.WatchConfig')!;
      let open = 0;
      const openOne = (): void => {
        open += 1;
        const headers = { 'content-type': 'application/grpc', te: 'trailers' };
        session
          .request({
            ':method': 'POST',
            ':path': path,
            ...headers,
            'x-gateway-api-key': cutting.first.admin_key,
          })
          .on('error', () => {})
          .on('response', (answer) => {
            if (answer['grpc-status'] !== undefined) open -= 1;
          })
          .end(Buffer.from([0, 0, 0, 0, 4, 0x0a, 2, 0x74, 0x30]));
      };
      const full = (): Promise<string> =>
        read(cutting.admin.api.watch.watchConfig({}), 1).then(
          () => 'open',
          (error: { code: string }) => error.code,
        );
      await eventually('all are open', async () => {
        // Who asks whether it is full takes a place for a moment, which one of them may have been refused for.
        while (open < 8) openOne();
        return (await full()) === 'AB06';
      });
      const { organisation_id: organisationId, workspace_id: workspaceId } = cutting.first;
      await cutting.store.unit(organisationId, async () => {
        for (let i = 0; i < 200; i++)
          await cutting.store.changes.append({
            ...{ organisationId, workspaceId, kind: 'config', id: `c${i}`, slug: 'x'.repeat(50_000) },
            action: 'update',
          });
      });
      await eventually('they are cut', async () => (await full()) === 'open', 15_000);
      session.destroy();
      await cutting.close();
    });
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
