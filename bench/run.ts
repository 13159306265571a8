import { compareAdmin } from './admin.js';
import { makeCertificate } from './certificate.js';
import { chatRequest } from './chat.js';
import type { BenchRow } from './comparison.js';
import { compareConversion } from './converted.js';
import { startHeadgate } from './headgate.js';
import { record, summary } from './results.js';
import { direct, runRounds, table, type Work } from './rounds.js';
import { type Server, startBareProxy, startNginx, startUpstream } from './servers.js';
import { soak } from './soak.js';
import { compareStores, storesTable } from './stores.js';
import { storedProviders, variantsOf } from './variants.js';

/**
 * `npm run bench`: the same work through nginx, through bare proxies of our two libraries, and through Headgate, in
 * one run, taking turns. CPU per request is the figure: throughput on a busy machine says more about the machine.
 * `--seconds N` (per measurement, 5), `--rounds N` (3), `--only WORD,…` (rows whose name holds one of them, and the
 * floors), `--work WORD` (chat, stream, connection), `--json`, `--compare FILE`. Instead: `--soak MINUTES` (memory under
 * load), or `--admin RATE` (so many requests a second beside a busy administration, 300), or `--conversion` (converted
 * requests beside those that are not), or `--stores` (with PostgreSQL and Redis set, and away; `--starts N`).
 */
const textArgument = (name: string): string | undefined => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? undefined : process.argv[at + 1];
};
const argument = (name: string, fallback: number): number => Number(textArgument(name) ?? fallback);
const seconds = argument('seconds', 5);
const rounds = argument('rounds', 3);
const soakMinutes = argument('soak', 0);
const isAdmin = process.argv.includes('--admin');
const adminRate = argument('admin', 300) || 300;
const isConversion = process.argv.includes('--conversion');
const isStores = process.argv.includes('--stores');
const asJson = process.argv.includes('--json');
const only = textArgument('only')?.split(',');
const workName = textArgument('work') ?? '';

const upstream = await startUpstream();
const plain = { port: upstream.port, tlsPort: null };
if (soakMinutes > 0) {
  const headgate = await startHeadgate({ providers: storedProviders(plain) });
  await soak(headgate, soakMinutes);
  await headgate.stop();
} else if (isConversion) {
  finish('conversion', await compareConversion(upstream.port, { seconds, rounds }));
} else if (isStores) {
  const turns = {
    seconds: argument('seconds', 0.4),
    rounds: argument('rounds', 30),
    starts: argument('starts', 3),
  };
  const rows = await compareStores(upstream.port, turns);
  if (!asJson) console.table(storesTable(rows));
  finish('stores', rows);
} else if (isAdmin) {
  const headgate = await startHeadgate({ providers: storedProviders(plain) });
  const requests = new Map([
    ['at once', chatRequest(headgate, false)],
    ['after 20 ms', chatRequest(headgate, false, { wait_ms: 20 })],
  ]);
  finish('admin', await compareAdmin(headgate, upstream, requests, { seconds, rounds, rate: adminRate }));
  await headgate.stop();
} else await compareServers();
await upstream.stop();
process.exit(0);

async function compareServers(): Promise<void> {
  const certificate = makeCertificate();
  const tls = certificate === null ? null : await startUpstream(certificate);
  if (tls === null) console.error('openssl is not installed: there is no row for an upstream with TLS');
  const ports = { port: upstream.port, tlsPort: tls?.port ?? null };
  const nginx = await startNginx(upstream.port, ports.tlsPort);
  if (nginx === null)
    console.error(
      'nginx is not installed: the figures stand without it (Debian: apt-get install nginx-light)',
    );
  const origin = `http://127.0.0.1:${upstream.port}`;
  const bare = await startBareProxy(origin);
  const bareJson = await startBareProxy(origin, 'json');
  const providers = storedProviders(ports);
  const headgate = await startHeadgate({ providers, trusted: certificate });
  const noBodies = await startHeadgate({ providers, trusted: certificate, logBodies: false });
  const floors = [...(nginx === null ? [] : [nginx]), bare, bareJson];
  const nginxTls = nginx === null || tls === null ? [] : [asTls(nginx)];

  const chosen = (servers: readonly Server[]): Server[] =>
    servers.filter(({ name, isFloor }) => isFloor || (only?.some((word) => name.includes(word)) ?? true));
  const works: Work[] = [
    {
      name: 'chat',
      stream: false,
      connections: 32,
      servers: chosen([...floors, headgate, noBodies, ...variantsOf(headgate, ports), ...nginxTls]),
    },
    {
      name: 'stream of 50 chunks',
      stream: true,
      connections: 100,
      servers: chosen([...floors, headgate, noBodies]),
    },
    {
      name: 'chat, one connection',
      stream: false,
      connections: 1,
      // The provider's own work is in nobody's figures.
      servers: [{ ...upstream, name: direct, pids: () => [] }, ...chosen([...floors, headgate])],
    },
  ];
  const rows: BenchRow[] = [];
  for (const work of works.filter(({ name }) => name.includes(workName))) {
    const made = await runRounds(work, { seconds, rounds });
    rows.push(...made);
    if (asJson) continue;
    console.log(`\n${work.name}`);
    console.table(table(made));
  }
  if (!asJson)
    for (const server of [headgate, noBodies])
      console.log(`event-loop delay of the data worker, ${server.name}: p99.9 ${await loopDelay(server)}`);
  for (const server of [...floors, headgate, noBodies]) await server.stop();
  await tls?.stop();
  certificate?.remove();
  finish('bench', rows);
}

/** The same nginx, asked for the upstream that has TLS. */
function asTls(nginx: Server): Server {
  return { ...nginx, name: 'nginx, TLS upstream', isFloor: false, path: '/tls/v1/chat/completions' };
}

async function loopDelay({ opsPort }: Server): Promise<string> {
  const text = await (await fetch(`http://127.0.0.1:${opsPort}/metrics`)).text();
  const found = /^gateway_event_loop_delay_seconds\{.*quantile="0\.999".*\} (\S+)$/m.exec(text);
  return found === null ? 'unknown' : `${(Number(found[1]) * 1000).toFixed(1)} ms`;
}

function finish(command: string, rows: readonly BenchRow[]): void {
  const recorded = record({ command, options: { seconds, rounds }, rows });
  if (asJson) console.log(JSON.stringify({ ...recorded.run, compared_with: recorded.before?.at ?? null }));
  // Where the figures are for a program, people read beside them.
  const print = asJson ? console.error : console.log;
  print(`\n${summary(recorded).join('\n')}`);
}
