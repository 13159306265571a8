import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2';
import { gzipSync } from 'node:zlib';
import {
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type sendUnaryData,
} from '@grpc/grpc-js';
import { expect } from 'chai';
import { HealthImplementation } from 'grpc-health-check';
import { GrpcListener } from '../../src/control-plane/administration/grpc/grpc-listener.js';
import {
  HeldBytes,
  type HeldBytesOptions,
  type Holder,
} from '../../src/control-plane/administration/grpc/held-bytes.js';
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

  it('count as what they may be decompressed to', () => {
    const reserved = (length: number): number => {
      const taken: number[] = [];
      decoderOf(taken).write(framed(Buffer.alloc(length), 1).subarray(0, 5));
      return taken[0]!;
    };
    expect(reserved(50)).to.equal(50 * 1032 + 64 * 1024);
    expect(reserved(2000)).to.equal(100_000 + 64 * 1024);
  });

  it('may come a frame each, any number of them', () => {
    const decoder = decoderOf([]);
    for (let i = 0; i < 5000; i++) expect(decoder.write(framed(Buffer.from('a')))).to.have.length(1);
  });
});

describe('bytes that the streams of a gRPC port hold', () => {
  let server: Server;
  let listener: GrpcListener;
  let session: ClientHttp2Session;
  /** Messages of streams that were read. */
  let asked = 0;
  const path = '/test.Echo/Echo';
  const chat = '/test.Echo/Chat';
  const same = (bytes: Buffer): Buffer => bytes;
  const method = {
    requestSerialize: same,
    requestDeserialize: same,
    responseSerialize: same,
    responseDeserialize: same,
  };
  const log = { info() {}, warn() {}, error() {}, debug() {} };

  const start = async (held: HeldBytesOptions | null, initialWindowSize: number): Promise<void> => {
    const options = { host: '127.0.0.1', port: 0, maxConnections: 10, requestMs: 60_000, log };
    listener = new GrpcListener(held === null ? options : { ...options, held });
    asked = 0;
    server = new Server({ interceptors: [listener.interceptor] });
    server.addService(
      {
        Echo: { ...method, path, requestStream: false, responseStream: false },
        Chat: { ...method, path: chat, requestStream: true, responseStream: true },
      },
      {
        Echo: ({ request }: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>) =>
          done(null, request),
        // As reflection does: without waiting for an answer to be taken.
        Chat: (stream: ServerDuplexStream<Buffer, Buffer>) => {
          stream.on('end', () => stream.end());
          stream.on('data', (message: Buffer) => {
            asked++;
            stream.write(message);
          });
        },
      },
    );
    const port = await listener.listen(server, ServerCredentials.createInsecure());
    // A window of no bytes: the answers of this client are not read before it grows.
    session = connect(`http://127.0.0.1:${port}`, { settings: { initialWindowSize } });
    session.on('error', () => {});
  };

  beforeEach(() => start({ all: 400_000, perRequest: 300_000 }, 0));

  const stop = (): void => {
    session.destroy();
    listener.close();
    server.forceShutdown();
  };
  afterEach(stop);

  const call = (to = path): ClientHttp2Stream => {
    const type = { 'content-type': 'application/grpc', 'grpc-encoding': 'gzip' };
    const stream = session.request({ ':method': 'POST', ':path': to, ...type });
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

  it('have room for a hundred short compressed calls at once', async () => {
    stop();
    await start(null, 65_535);
    const body = framed(gzipSync(Buffer.alloc(300, 1)), 1);
    const codes = await Promise.all(
      Array.from({ length: 100 }, () => {
        const stream = call();
        stream.end(body);
        return closeOf(stream);
      }),
    );
    expect(codes.filter((code) => code !== 0)).to.deep.equal([]);
  });

  it('are given back with each message of a long stream, compressed or not', async function () {
    this.timeout(20_000);
    stop();
    await start({ all: 400_000, perRequest: 300_000 }, 65_535);
    const stream = call(chat);
    let received = 0;
    let wanted = 0;
    stream.on('data', (data: Buffer) => {
      received += data.length;
    });
    for (const [message, times] of [
      [framed(Buffer.from('a')), 1500],
      [framed(gzipSync(Buffer.alloc(50_000)), 1), 20],
    ] as const) {
      const length = message[0] === 1 ? 50_005 : message.length;
      for (let i = 0; i < times; i++) {
        wanted += length;
        stream.write(message);
        while (received < wanted && !stream.destroyed) await new Promise((resume) => setImmediate(resume));
        expect(received, `answer ${i}`).to.equal(wanted);
      }
    }
    await eventually('all but the stream is given back', async () => listener.heldBytes < 10_000);
  });

  it('do not grow with the messages of a stream whose answers are not read', async () => {
    const stream = call(chat);
    const messages = Buffer.concat(Array.from({ length: 200 }, () => framed(Buffer.from('ab'))));
    stream.write(messages);
    await eventually('a message is read', async () => asked > 0);
    const other = call(chat);
    other.write(framed(Buffer.from('b')));
    await eventually('a later one on another stream is', async () => asked > 1);
    await new Promise((resume) => setTimeout(resume, 100));
    expect(asked).to.equal(2);
    session.settings({ initialWindowSize: 1_000_000 });
    await eventually('all are read once the answers are', async () => asked === 201);
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
    held.enter(running, 'running');
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

  it('cuts incomplete requests first, the largest one, then unread answers, and open streams last', async () => {
    const held = new HeldBytes({ all: 1_000_000, perRequest: 900_000 });
    const cut: string[] = [];
    const begin = (name: string): Holder => {
      const holder: Holder = held.begin(() => {
        cut.push(name);
        setImmediate(() => held.end(holder));
      });
      return holder;
    };
    held.enter(begin('open'), 'open');
    held.enter(begin('unread'), 'unread');
    begin('small');
    const large = begin('large');
    expect(held.take(large, 600_000)).to.equal(true);
    expect(held.take(begin('a'), 700_000)).to.equal(false);
    expect(cut).to.deep.equal(['large']);
    // Its bytes count until it is closed.
    expect(held.all).to.be.above(600_000);
    await new Promise((resume) => setImmediate(resume));
    expect(held.all).to.be.below(100_000);
    const b = begin('b');
    expect(held.take(b, 890_000)).to.equal(true);
    held.enter(b, 'running');
    for (let i = 0; i < 20; i++) held.enter(begin(`c${i}`), 'running');
    expect(cut.slice(1)).to.deep.equal(['small', 'a', 'unread', 'open']);
  });
});
