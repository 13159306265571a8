import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { expect } from 'chai';
import { FaultyProxy } from '../support/faulty-proxy.js';
import { eventually, pause } from '../support/gateway.js';

/** A client behind the proxy of a server that answers every word by itself. */
class Talk {
  heard = '';
  broken = false;

  private constructor(readonly socket: Socket) {
    socket.on('data', (piece) => {
      this.heard += piece.toString();
    });
    socket.on('error', () => {
      this.broken = true;
    });
  }

  static async with(proxy: FaultyProxy): Promise<Talk> {
    const socket = connect(proxy.port, '127.0.0.1');
    const talk = new Talk(socket);
    await once(socket, 'connect');
    return talk;
  }

  async says(word: string): Promise<void> {
    this.socket.write(word);
    await eventually(`${word} comes back`, async () => this.heard.endsWith(word));
  }
}

describe('the proxy that tests put in front of a server', () => {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (piece) => {
      received += piece.toString();
      socket.write(piece);
    });
  });
  let received = '';
  let proxy: FaultyProxy;
  const talks: Talk[] = [];
  const talk = async (): Promise<Talk> => {
    const made = await Talk.with(proxy);
    talks.push(made);
    return made;
  };

  before((done) => {
    server.listen(0, '127.0.0.1', done);
  });
  beforeEach(async () => {
    const address = server.address();
    proxy = await FaultyProxy.start(typeof address === 'object' ? (address?.port ?? 0) : 0);
    received = '';
  });
  afterEach(async () => {
    for (const { socket } of talks.splice(0)) socket.destroy();
    await proxy.close();
  });
  after(() => server.close());

  it('resets and refuses, and passes again at the same port', async () => {
    const one = await talk();
    await one.says('one');
    proxy.refuse();
    await eventually('reset', async () => one.broken);
    expect(await talk().catch((error) => error.code)).to.equal('ECONNREFUSED');
    await proxy.pass();
    await (await talk()).says('two');
  });

  it('swallows without a reset, for good; new connections work afterwards', async () => {
    const one = await talk();
    await one.says('one');
    proxy.swallow();
    one.socket.write('lost');
    await pause(50);
    await proxy.pass();
    one.socket.write('more');
    await (await talk()).says('two');
    expect([one.heard, one.broken, received]).to.deep.equal(['one', false, 'onetwo']);
  });

  it('freezes, and lets through afterwards what was sent, also by a client that has gone', async () => {
    const one = await talk();
    await one.says('one');
    proxy.freeze();
    one.socket.write('late');
    await pause(20);
    one.socket.end();
    await pause(20);
    expect(received).to.equal('one');
    await proxy.pass();
    await eventually('it comes late', async () => received === 'onelate');
  });

  it('forgets the connections of a moment', async () => {
    const one = await talk();
    await one.says('one');
    proxy.forget();
    one.socket.write('lost');
    await (await talk()).says('two');
    expect([one.heard, one.broken, received]).to.deep.equal(['one', false, 'onetwo']);
  });

  it('delays each piece, and keeps their order', async () => {
    const one = await talk();
    await one.says('one');
    proxy.delayMs = 60;
    const began = performance.now();
    one.socket.write('two');
    await pause(10);
    proxy.delayMs = 0;
    one.socket.write('three');
    await eventually('all', async () => one.heard === 'onetwothree');
    expect(performance.now() - began).to.be.greaterThan(59);
  });

  it('cuts a connection at the piece that a rule names', async () => {
    const one = await talk();
    await one.says('one');
    proxy.rule = (piece, direction) =>
      direction === 'toClient' && piece.includes('COMMIT') ? 'reset' : 'pass';
    one.socket.write('COMMIT');
    await eventually('reset', async () => one.broken);
    expect([one.heard, received]).to.deep.equal(['one', 'oneCOMMIT']);
  });
});
