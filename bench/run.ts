import { compareAdmin } from './admin.js';
import { compareConversion } from './converted.js';
import { cpuSeconds, residentBytes } from './cpu.js';
import { clientRequest, drive, type Load } from './load.js';
import { pause, type Server, startBareProxy, startHeadgate, startNginx, startUpstream } from './servers.js';

/**
 * `npm run bench`: the same work through nginx, through a bare proxy of our two libraries, and through Headgate, in
 * one run, taking turns. CPU per request is the figure: throughput on a busy machine says more about the machine.
 * `--seconds N` (per measurement, 5), `--rounds N` (3), `--json`. Instead: `--soak MINUTES` (memory under load), or
 * `--admin RATE` (so many requests a second beside a busy administration, 300), or `--conversion` (converted requests
 * beside those that are not).
 */
const argument = (name: string, fallback: number): number => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? fallback : Number(process.argv[at + 1]);
};
const seconds = argument('seconds', 5);
const rounds = argument('rounds', 3);
const soakMinutes = argument('soak', 0);
const isAdmin = process.argv.includes('--admin');
const adminRate = argument('admin', 300) || 300;
const isConversion = process.argv.includes('--conversion');
const asJson = process.argv.includes('--json');

const chat = (stream: boolean, more: object = {}): string => {
  const body = {
    model: 'gpt-4o-mini',
    messages: [
      { role: 'system', content: 'You are a helpful assistant. '.repeat(8) },
      { role: 'user', content: 'Tell me about the river and the gate that holds it. '.repeat(12) },
    ],
    temperature: 0.7,
    max_tokens: 256,
    ...(stream ? { stream: true, stream_options: { include_usage: true } } : {}),
    ...more,
  };
  return JSON.stringify(body);
};

const request = (server: Server, stream: boolean, more: object = {}): Buffer =>
  clientRequest('/v1/chat/completions', server.headers, chat(stream, more));

interface Figure {
  cpuMicros: number[];
  rps: number[];
  p50: number[];
  p99: number[];
  errors: number;
}

const median = (values: number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

async function measure(server: Server, stream: boolean, figure: Figure): Promise<void> {
  const load: Load = {
    port: server.port,
    request: request(server, stream),
    connections: stream ? 100 : 32,
    seconds,
    chunked: stream,
  };
  // After each turn of the others it takes V8 two seconds to be as fast as it was.
  await drive({ ...load, seconds: 3 });
  const before = cpuSeconds(server.pids());
  const result = await drive(load);
  // What was put off until after the answers (ingestion) belongs to the requests too.
  await pause(600);
  const cpu = cpuSeconds(server.pids()) - before;
  figure.cpuMicros.push((cpu / result.requests) * 1e6);
  figure.rps.push(result.requests / result.seconds);
  figure.p50.push(result.p50);
  figure.p99.push(result.p99);
  figure.errors += result.errors;
}

async function loopDelay(server: Server): Promise<string> {
  if (server.opsPort === undefined) return '';
  const text = await (await fetch(`http://127.0.0.1:${server.opsPort}/metrics`)).text();
  const found = /^gateway_event_loop_delay_seconds\{.*quantile="0\.999".*\} (\S+)$/m.exec(text);
  return found === null ? '' : `${(Number(found[1]) * 1000).toFixed(1)} ms`;
}

async function compare(servers: readonly Server[]): Promise<void> {
  for (const stream of [false, true]) {
    const figures = new Map<string, Figure>();
    for (const server of servers)
      figures.set(server.name, { cpuMicros: [], rps: [], p50: [], p99: [], errors: 0 });
    for (let round = 0; round < rounds; round++) {
      for (const server of servers) {
        process.stderr.write(
          `\r${stream ? 'streams' : 'chat'} ${round + 1}/${rounds} ${server.name.padEnd(32)}`,
        );
        await measure(server, stream, figures.get(server.name) as Figure);
      }
    }
    process.stderr.write(`\r${' '.repeat(60)}\r`);
    const base = median(figures.get('nginx')?.cpuMicros ?? []);
    const what = stream ? 'stream of 50 chunks' : 'chat, 1 KB in, 600 B out';
    const rows = servers.map((server) => {
      const figure = figures.get(server.name) as Figure;
      const cpu = median(figure.cpuMicros);
      return {
        what,
        server: server.name,
        cpu_us_per_request: Number(cpu.toFixed(1)),
        times_nginx: base === 0 ? null : Number((cpu / base).toFixed(2)),
        requests_per_second: Math.round(median(figure.rps)),
        p50_ms: Number(median(figure.p50).toFixed(2)),
        p99_ms: Number(median(figure.p99).toFixed(2)),
        errors: figure.errors,
      };
    });
    if (asJson) console.log(JSON.stringify(rows));
    else {
      console.log(`\n${what}`);
      console.table(rows.map(({ what: _what, ...row }) => row));
    }
  }
  for (const server of servers) {
    const delay = await loopDelay(server);
    if (delay !== '') console.log(`event-loop delay of the data worker, ${server.name}: p99.9 ${delay}`);
  }
}

/** Load for minutes; the slope of resident memory after the first fifth, by least squares. */
async function soak(server: Server): Promise<void> {
  const points: { minute: number; mb: number }[] = [];
  const began = performance.now();
  let over = false;
  const loads = (async () => {
    while (!over) {
      await drive({
        port: server.port,
        request: request(server, false),
        connections: 16,
        seconds: 5,
        chunked: false,
      });
      await drive({
        port: server.port,
        request: request(server, true),
        connections: 50,
        seconds: 5,
        chunked: true,
      });
    }
  })();
  while (performance.now() - began < soakMinutes * 60_000) {
    await pause(5000);
    const minute = (performance.now() - began) / 60_000;
    const mb = residentBytes(server.pids()) / 1e6;
    points.push({ minute, mb });
    process.stderr.write(`\r${minute.toFixed(1)} min: ${mb.toFixed(0)} MB   `);
  }
  over = true;
  await loads;
  const late = points.filter((point) => point.minute > soakMinutes / 5);
  const meanX = late.reduce((sum, point) => sum + point.minute, 0) / late.length;
  const meanY = late.reduce((sum, point) => sum + point.mb, 0) / late.length;
  const slope =
    late.reduce((sum, point) => sum + (point.minute - meanX) * (point.mb - meanY), 0) /
    late.reduce((sum, point) => sum + (point.minute - meanX) ** 2, 0);
  console.log(
    `\nmemory over ${soakMinutes} min: ${points[0]?.mb.toFixed(0)} → ${points.at(-1)?.mb.toFixed(0)} MB, slope ${slope.toFixed(2)} MB a minute`,
  );
}

const upstream = await startUpstream();
if (isConversion) {
  await compareConversion(upstream.port, { seconds, rounds });
  await upstream.stop();
  process.exit(0);
}
const headgate = await startHeadgate(upstream.port, { bodies: false });
if (soakMinutes > 0) {
  await soak(headgate);
  await headgate.stop();
} else if (isAdmin) {
  const requests = new Map([
    ['at once', request(headgate, false)],
    ['after 20 ms', request(headgate, false, { wait_ms: 20 })],
  ]);
  await compareAdmin(headgate, upstream, requests, { seconds, rounds, rate: adminRate });
  await headgate.stop();
} else {
  const nginx = await startNginx(upstream.port);
  if (nginx === null)
    console.log('nginx is not installed: the figures stand without it (Debian: apt-get install nginx-light)');
  const bare = await startBareProxy(`http://127.0.0.1:${upstream.port}`);
  const bodies = await startHeadgate(upstream.port, { bodies: true });
  const servers = [...(nginx === null ? [] : [nginx]), bare, headgate, bodies];
  await compare(servers);
  for (const server of servers) await server.stop();
}
await upstream.stop();
process.exit(0);
