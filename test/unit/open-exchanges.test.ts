import { expect } from 'chai';
import type { Exchange } from '../../src/common/core/exchange.js';
import { type OpenExchange, OpenExchanges } from '../../src/data-plane/pipeline/open-exchanges.js';
import { BareWorker, type Client, event, keyRecord } from '../support/bare-worker.js';
import { eventually } from '../support/gateway.js';

const sharedConfig = '{"provider":"@p","cache":{"mode":"simple"}}';

describe('the exchanges of a worker', () => {
  let worker: BareWorker;

  beforeEach(async () => {
    worker = await new BareWorker().start();
  });
  afterEach(() => worker.close());

  const settled = (status: number, error: string | null) =>
    eventually('it is settled', async () =>
      worker.settled.some((row) => row.status === status && row.error === error),
    );
  const isRevoked = (client: Client) =>
    eventually('it ends', async () => client.ended && client.text.includes('"code":"key_revoked"'));

  it('end with their key, and those of other keys go on', async () => {
    const [gone, kept] = [worker.key(), worker.key()];
    const [first, firstAsked] = await worker.streaming(gone);
    const [second, secondAsked] = await worker.streaming(kept);
    worker.change(gone, null);
    worker.forget('*');
    await isRevoked(first);
    expect(first.text).to.match(/event: error\ndata: .*\n\n$/);
    expect(firstAsked.cancelled).to.equal(true);
    await settled(200, 'key_revoked');
    secondAsked.handler.data(event('lo'));
    secondAsked.handler.data(Buffer.from('data: [DONE]\n\n'));
    secondAsked.handler.end();
    expect(second.ended).to.equal(true);
    expect(second.text).to.include('lo').and.not.include('error');
    expect(secondAsked.cancelled).to.equal(false);
  });

  it('are refused where nothing was answered yet', async () => {
    const key = worker.key();
    const [client, asked] = await worker.asking(key, { stream: false });
    worker.change(key, null);
    worker.forget(key);
    await isRevoked(client);
    expect(client.status).to.equal(401);
    expect(asked.cancelled).to.equal(true);
    await settled(401, 'key_revoked');
  });

  it('go on under what their key is now, its new expiry included', async () => {
    const key = worker.key();
    const [client, asked] = await worker.streaming(key);
    const end = Date.now() + 60_000;
    worker.change(key, keyRecord({ keyName: 'renamed', expiresAt: end }));
    worker.forget(key);
    // The lookup has answered by then.
    await eventually('it is looked up', async () => worker.directory.key(worker.hashOf(key)) !== null);
    await new Promise((turn) => setTimeout(turn, 20));
    worker.pipeline.open.sweep(end - 1);
    asked.handler.data(event('lo'));
    expect(client.text).to.include('lo').and.not.include('error');
    worker.pipeline.open.sweep(end);
    await isRevoked(client);
    expect(asked.cancelled).to.equal(true);
  });

  it('are looked up again until the store answers, and are not ended by an expiry that may have moved', async () => {
    const end = Date.now() + 60_000;
    const key = worker.key({ expiresAt: end });
    const [client] = await worker.streaming(key);
    worker.away = true;
    worker.change(key, keyRecord({ expiresAt: end + 1000 }));
    worker.forget(key);
    await new Promise((turn) => setTimeout(turn, 20));
    worker.pipeline.open.sweep(end);
    expect(client.ended).to.equal(false);
    worker.away = false;
    worker.change(key, null);
    await isRevoked(client);
  });

  it('do not begin with what a lookup found before a change that overtook it', async () => {
    const key = worker.key();
    let answer = (): void => {};
    worker.slow = new Promise((resolve) => {
      answer = resolve;
    });
    const client = worker.ask(key);
    // The record was read, and is on its way, when the key is deleted.
    worker.change(key, null);
    worker.forget(key);
    answer();
    await eventually('it is answered', async () => client.ended);
    expect(client.status).to.equal(401);
    expect(worker.asked).to.have.length(0);
  });

  it('go on for those who wait for the same answer with valid keys, without the client whose key was revoked', async () => {
    const [leader, follower] = [worker.key({ keyId: 'a' }), worker.key({ keyId: 'b' })];
    const [first, asked] = await worker.streaming(leader, sharedConfig);
    const second = worker.ask(follower, { config: sharedConfig });
    await eventually('the other reads too', async () => second.text.includes('Hel'));
    expect(worker.asked).to.have.length(1);
    worker.change(leader, null);
    worker.forget(leader);
    await isRevoked(first);
    expect(asked.cancelled).to.equal(false);
    const { length } = first.text;
    asked.handler.data(event('lo'));
    asked.handler.data(Buffer.from('data: [DONE]\n\n'));
    asked.handler.end();
    await eventually('the other has all of it', async () => second.ended);
    expect(second.text).to.include('lo').and.include('[DONE]').and.not.include('key_revoked');
    expect(first.text).to.have.length(length);
    await settled(200, 'key_revoked');
  });

  it('end once no client with a valid key waits for them', async () => {
    const [leader, follower] = [worker.key({ keyId: 'a' }), worker.key({ keyId: 'b' })];
    const [first, asked] = await worker.streaming(leader, sharedConfig);
    const second = worker.ask(follower, { config: sharedConfig });
    await eventually('the other reads too', async () => second.text.includes('Hel'));
    worker.change(follower, null);
    worker.forget(follower);
    await isRevoked(second);
    expect([first.ended, asked.cancelled]).to.deep.equal([false, false]);
    worker.change(leader, null);
    worker.forget(leader);
    await isRevoked(first);
    expect(asked.cancelled).to.equal(true);
  });

  it('go on for those who wait for a whole answer, where the key was revoked before the answer began', async () => {
    const [leader, follower] = [worker.key({ keyId: 'a' }), worker.key({ keyId: 'b' })];
    const [first, asked] = await worker.asking(leader, { stream: false, config: sharedConfig });
    const second = worker.ask(follower, { stream: false, config: sharedConfig });
    await new Promise((turn) => setTimeout(turn, 20));
    for (const key of [leader, follower])
      worker.change(key, key === leader ? null : keyRecord({ keyId: 'b' }));
    worker.forget('*');
    await isRevoked(first);
    expect(first.status).to.equal(401);
    asked.handler.head(200, ['content-type', 'application/json']);
    asked.handler.data(
      Buffer.from(JSON.stringify({ choices: [{ finish_reason: 'stop', message: { content: 'Hello' } }] })),
    );
    asked.handler.end();
    await eventually('the other is answered', async () => second.ended);
    expect(second.status, second.text).to.equal(200);
    await settled(401, 'key_revoked');
  });

  it('end with their workspace or their user, and no other key is looked up for that', async () => {
    const [gone, person, kept] = [
      worker.key({ workspaceId: 'short' }),
      worker.key({ userId: 'left', keyType: 'workspace-user' }),
      worker.key({ userId: 'stays', keyType: 'workspace-user' }),
    ];
    const [first] = await worker.streaming(gone);
    const [second] = await worker.streaming(person);
    const [third, asked] = await worker.streaming(kept);
    const { lookups } = worker;
    for (const key of [gone, person]) worker.change(key, null);
    worker.report({ kind: 'key', workspace: 'short', name: '*' });
    await isRevoked(first);
    expect([second.ended, worker.lookups]).to.deep.equal([false, lookups + 1]);
    worker.report({ kind: 'key', workspace: null, name: '*', user: 'left' });
    await isRevoked(second);
    expect(worker.lookups).to.equal(lookups + 2);
    for (const key of [gone, person]) expect(await worker.directory.key(worker.hashOf(key))).to.equal(null);
    expect(worker.directory.key(worker.hashOf(kept))).to.not.be.instanceOf(Promise);
    asked.handler.data(event('lo'));
    expect(third.text).to.include('lo').and.not.include('error');
  });

  it('end with their key although no client waits for them', async () => {
    const key = worker.key();
    const config = '{"provider":"@p","mirror":{"share":1,"target":{"provider":"@p"}}}';
    const [client, asked] = await worker.streaming(key, config);
    await eventually('the copy is sent', async () => worker.asked.length === 2);
    worker.change(key, null);
    worker.forget(key);
    await isRevoked(client);
    expect([asked.cancelled, worker.asked[1]!.cancelled]).to.deep.equal([true, true]);
    await eventually('both are settled', async () => worker.settled.length === 2);
    expect(worker.settled.map(({ error }) => error)).to.deep.equal(['key_revoked', 'key_revoked']);
  });

  for (const cause of ['deleted', 'expired']) {
    it(`are ended a few at a time where thousands have the key that was ${cause}, so that others get their turns`, async () => {
      const principal = Object.freeze(keyRecord({ expiresAt: cause === 'expired' ? 1000 : null }));
      const keys = { key: () => null, hashOf: () => 'hash' };
      const open = new OpenExchanges(keys, { info() {} });
      let turn = 0;
      const counting = setInterval(() => turn++, 0);
      const turns = new Map<number, number>();
      let ended = 0;
      for (let i = 0; i < 100; i++) {
        const exchange: OpenExchange = {
          x: { principal, endpoint: { name: 'chat' } } as unknown as Exchange,
          previous: null,
          next: null,
          revoke() {
            // As long as the end of an exchange may take.
            for (const until = performance.now() + 1; performance.now() < until; );
            turns.set(turn, (turns.get(turn) ?? 0) + 1);
            ended++;
            open.remove(exchange);
          },
        };
        open.add(exchange);
      }
      if (cause === 'expired') open.sweep(2000);
      else open.forgotten([{ kind: 'key', workspace: null, name: 'hash' }]);
      await eventually('all have ended', async () => ended === 100);
      clearInterval(counting);
      open.close();
      expect(Math.max(...turns.values())).to.be.at.most(30);
    });
  }
});
