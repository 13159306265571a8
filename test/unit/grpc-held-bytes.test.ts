import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2';
import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData } from '@grpc/grpc-js';
import { expect } from 'chai';
import { HealthImplementation } from 'grpc-health-check';
import { GrpcListener } from '../../src/control-plane/administration/grpc/grpc-listener.js';
import { HeldBytes } from '../../src/control-plane/administration/grpc/held-bytes.js';
import { MessageDecoder } from '../../src/control-plane/administration/grpc/message-decoder.js';
import { eventually } from '../support/gateway.js';

const framed = (message: Buffer, flag = 0): Buffer => {
  const prefix = Buffer.alloc(5);
  prefix[0] = flag;
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
};

describe('messages of a gRPC stream', () => {
  let tiny = 0;
  const decoderOf = (taken: number[], isUnary = false): MessageDecoder =>
    new MessageDecoder({
      longest: 100_000,
      isUnary,
      take: (bytes) => taken.push(bytes) > 0,
      onTinyFrames: () => {
        tiny++;
      },
    });

  it('are the same wherever they are cut', () => {
    const messages = ['', 'a', 'hello', 'x'.repeat(3000)].map((text) => framed(Buffer.from(text)));
    const bytes = Buffer.concat(messages);
    for (let at = 0; at <= bytes.length; at++) {
      const decoder = decoderOf([]);
      const read = [...decoder.write(bytes.subarray(0, at)), ...decoder.write(bytes.subarray(at))];
      expect(Buffer.concat(read).equals(bytes) && read.length === messages.length, `cut at ${at}`).to.equal(
        true,
      );
    }
  });

  it('take twice their length at most, though they come in small frames', () => {
    const taken: number[] = [];
    const decoder = decoderOf(taken);
    const bytes = framed(Buffer.alloc(50_000, 1));
    const read: Buffer[] = [];
    for (let at = 0; at < bytes.length; at += 64) read.push(...decoder.write(bytes.subarray(at, at + 64)));
    expect(Buffer.concat(read).equals(bytes)).to.equal(true);
    expect(taken.reduce((sum, each) => sum + each, 0)).to.be.below(2 * bytes.length);
  });

  it('are refused if they are too long, or if a call that has one has another', () => {
    expect(() => decoderOf([]).write(framed(Buffer.alloc(100_001)).subarray(0, 5))).to.throw(
      'The message has 100001 bytes; at most 100000 are accepted.',
    );
    const two = Buffer.concat([framed(Buffer.from('a')), framed(Buffer.from('b'))]);
    expect(() => decoderOf([], true).write(two)).to.throw('more than one message');
    expect(decoderOf([]).write(two).length).to.equal(2);
  });

  it('end the connection if they come byte by byte', () => {
    const decoder = decoderOf([]);
    const bytes = framed(Buffer.alloc(2000));
    const send = (): void => {
      for (const byte of bytes) decoder.write(Buffer.from([byte]));
    };
    expect(send).to.throw('too many small frames');
    expect(tiny).to.equal(1);
  });

  it('count as the longest one if they are compressed', () => {
    const taken: number[] = [];
    decoderOf(taken).write(framed(Buffer.from('zip'), 1).subarray(0, 5));
    expect(taken).to.deep.equal([100_000]);
  });
});

describe('bytes that the streams of a gRPC port hold', () => {
  let server: Server;
  let listener: GrpcListener;
  let session: ClientHttp2Session;
  const path = '/test.Echo/Echo';
  const same = (bytes: Buffer): Buffer => bytes;
  const log = { info() {}, warn() {}, error() {}, debug() {} };

  beforeEach(async () => {
    listener = new GrpcListener({
      host: '127.0.0.1',
      port: 0,
      maxConnections: 10,
      requestMs: 60_000,
      held: { all: 400_000, perRequest: 300_000 },
      log,
    });
    server = new Server({ interceptors: [listener.interceptor] });
    server.addService(
      {
        Echo: {
          path,
          requestStream: false,
          responseStream: false,
          requestSerialize: same,
          requestDeserialize: same,
          responseSerialize: same,
          responseDeserialize: same,
        },
      },
      {
        Echo: ({ request }: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>) =>
          done(null, request),
      },
    );
    const port = await listener.listen(server, ServerCredentials.createInsecure());
    // A window of no bytes: the answers of this client are not read before it grows.
    session = connect(`http://127.0.0.1:${port}`, { settings: { initialWindowSize: 0 } });
    session.on('error', () => {});
  });

  afterEach(() => {
    session.destroy();
    listener.close();
    server.forceShutdown();
  });

  const call = (): ClientHttp2Stream => {
    const stream = session.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc' });
    stream.on('error', () => {});
    stream.resume();
    return stream;
  };
  const closeOf = (stream: ClientHttp2Stream): Promise<number> =>
    new Promise((closed) => stream.once('close', () => closed(stream.rstCode ?? 0)));

  it('are limited: what arrives slowly is cut for what comes later, the oldest first', async () => {
    const slow = [call(), call(), call()];
    const cut = closeOf(slow[0]!);
    for (const stream of slow) {
      stream.write(framed(Buffer.alloc(100_000)).subarray(0, 60_000));
      await eventually(
        'it has arrived',
        async () => listener.heldBytes > 68_000 * (slow.indexOf(stream) + 1),
      );
    }
    const later = call();
    later.end(framed(Buffer.alloc(250_000)));
    expect(await cut).to.equal(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    expect(slow.map(({ closed }) => closed)).to.deep.equal([true, false, false]);
    session.destroy();
    await eventually('all is given back', async () => listener.heldBytes === 0);
  });

  it('are counted although an answer is no bytes yet, as those of the health service', async () => {
    new HealthImplementation({ '': 'SERVING' }).addToServer(server);
    for (let i = 0; i < 3; i++) {
      const path = '/grpc.health.v1.Health/Check';
      const stream = session.request({
        ':method': 'POST',
        ':path': path,
        'content-type': 'application/grpc',
      });
      stream.end(framed(Buffer.alloc(0)));
      await eventually('it is held', async () => listener.heldBytes > 8_000 * (i + 1));
    }
    session.destroy();
    await eventually('all is given back', async () => listener.heldBytes === 0);
  });

  it('include answers that are not read', async () => {
    const unread: ClientHttp2Stream[] = [];
    for (let i = 0; i < 3; i++) {
      const stream = call();
      unread.push(stream);
      stream.end(framed(Buffer.alloc(60_000)));
      await eventually('it is answered', async () => listener.heldBytes > 120_000 * (i + 1));
    }
    const cut = closeOf(unread[0]!);
    call().end(framed(Buffer.alloc(60_000)));
    expect(await cut).to.equal(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    expect(unread.map(({ closed }) => closed)).to.deep.equal([true, false, false]);
  });

  it('are limited for each request, without harm to others', async () => {
    const small = call();
    small.write(framed(Buffer.alloc(1000)).subarray(0, 100));
    const large = call();
    const status = new Promise((answered) =>
      large.once('response', (headers) => answered(headers['grpc-status'])),
    );
    large.end(framed(Buffer.alloc(390_000)));
    expect(await status).to.equal('8');
    expect(small.closed).to.equal(false);
  });
});

describe('HeldBytes', () => {
  it('refuses bytes that would need streams being answered to be closed', () => {
    const held = new HeldBytes({ all: 100_000, perRequest: 80_000 });
    const cut: string[] = [];
    const running = held.begin(() => cut.push('running'));
    expect(held.take(running, 70_000)).to.equal(true);
    running.isWaiting = false;
    const next = held.begin(() => cut.push('next'));
    expect(held.take(next, 50_000)).to.equal(false);
    expect(held.take(next, 5_000)).to.equal(true);
    expect(cut).to.deep.equal([]);
    held.end(running);
    expect(held.take(next, 50_000)).to.equal(true);
    held.end(next);
    held.end(next);
    expect(held.all).to.equal(0);
    expect(held.take(next, 1)).to.equal(false);
  });
});
