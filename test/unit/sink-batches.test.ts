import { randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { expect } from 'chai';
import type { LogSinkSettings } from '../../src/common/settings/log-sinks.js';
import { s3Sink } from '../../src/control-plane/telemetry/sinks/s3-sink.js';
import type { SentRow } from '../../src/control-plane/telemetry/sinks/sink.js';
import { expectWithinMs } from '../support/time-limits.js';

describe('a batch of logs for S3', () => {
  let server: Server;
  let received: Buffer[] = [];
  const given = { ...process.env };

  before(async () => {
    server = createServer((request, response) => {
      request.on('data', (piece: Buffer) => received.push(piece));
      request.on('end', () => response.writeHead(200, { etag: '"x"' }).end());
    });
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    const own = { AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'secret', AWS_REGION: 'eu-west-1' };
    Object.assign(process.env, own);
  });

  after(() => {
    server.close();
    server.closeAllConnections();
    for (const name of ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_REGION']) {
      if (given[name] === undefined) delete process.env[name];
      else process.env[name] = given[name];
    }
  });

  it('is written and compressed without a turn of 50 ms', async function () {
    this.timeout(60_000);
    const texts = Array.from({ length: 5000 }, () => randomBytes(1200).toString('base64'));
    const rows = Array.from({ length: 5000 }, () => ({
      row: { at: Date.UTC(2030, 0, 31) },
      bodies: null,
    })) as unknown as readonly SentRow[];
    let line = 0;
    const { port } = server.address() as AddressInfo;
    const settings = { type: 's3', url: 's3://bucket/logs', bodies: true } as unknown as LogSinkSettings;
    const sink = await s3Sink(
      'archive',
      settings,
      () => `${line} ${texts[line++]}`,
      `http://127.0.0.1:${port}`,
    );
    // The first call loads the client.
    await sink.send({ id: 'first', rows: rows.slice(0, 1) }, AbortSignal.timeout(30_000));
    let best = Number.POSITIVE_INFINITY;
    for (let i = 0; i < 5 && best >= 50; i++) {
      received = [];
      line = 0;
      let longest = 0;
      let isOver = false;
      const watch = (): void => {
        const began = performance.now();
        const cpu = process.cpuUsage();
        if (!isOver)
          setImmediate(() => {
            const { user, system } = process.cpuUsage(cpu);
            longest = Math.max(longest, Math.min(performance.now() - began, (user + system) / 1000));
            watch();
          });
      };
      watch();
      await sink.send({ id: 'batch', rows }, AbortSignal.timeout(30_000));
      isOver = true;
      best = Math.min(best, longest);
    }
    const sent = gunzipSync(Buffer.concat(received)).toString().trimEnd().split('\n');
    expect([sent.length, sent[4999]?.slice(0, 5)]).to.deep.equal([5000, '4999 ']);
    expectWithinMs(best, 50);
  });
});
