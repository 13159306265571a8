import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { connectAdmin } from '../src/client/index.js';
import { chatBody } from './chat.js';
import { type BenchRow, median } from './comparison.js';
import { cpuSeconds } from './cpu.js';
import { headersOf, startHeadgate } from './headgate.js';
import { clientRequest, drive } from './load.js';
import { record, summary } from './results.js';
import { pause, startUpstream } from './servers.js';
import { storedProviders } from './variants.js';

/**
 * What a call with a JSON web token costs beside one with a gateway key: CPU of the control process and the data worker,
 * in turns at the same gateway. `node dist/bench/tokens.js [rounds] [seconds]`.
 */
const rounds = Number(process.argv[2] ?? 10);
const seconds = Number(process.argv[3] ?? 3);

const upstream = await startUpstream();
const providers = storedProviders({ port: upstream.port, tlsPort: null });
const gateway = await startHeadgate({ providers });
const admin = connectAdmin({ address: `127.0.0.1:${gateway.grpcPort}`, key: gateway.adminKey });
const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true });
const jwk = { ...(await exportJWK(publicKey)), kid: 'bench', alg: 'RS256' };
await admin.api.organisations.updateAuthSettings({ jwks: { keys: [jwk] } });
const { id } = await admin.api.organisations.getOrganisation({});
const token = await new SignJWT({
  iss: 'https://id.example.com',
  aud: 'headgate',
  sub: 'user@example.com',
  gateway_oid: id,
  gateway_workspace: 'default',
  scope: 'completions.write',
})
  .setProtectedHeader({ alg: 'RS256', kid: 'bench', typ: 'JWT' })
  .setIssuedAt()
  .setExpirationTime('2h')
  .sign(privateKey);

const config = { strategy: { mode: 'fallback' }, targets: [{ provider: '@bench' }, { provider: '@bench' }] };
const requestOf = (key: string): Buffer =>
  clientRequest('/v1/chat/completions', headersOf(key, config), chatBody(false));
const kinds = { key: requestOf(gateway.key), token: requestOf(token) };

async function cpuOf(request: Buffer, forSeconds: number): Promise<number> {
  const before = cpuSeconds(gateway.pids());
  const load = { port: gateway.port, request, connections: 32, seconds: forSeconds, chunked: false };
  const { requests, errors } = await drive(load);
  if (errors > 0) throw new Error(`${errors} requests were not answered with 200.`);
  await pause(600);
  return ((cpuSeconds(gateway.pids()) - before) / requests) * 1e6;
}

const figures: Record<keyof typeof kinds, number[]> = { key: [], token: [] };
for (const request of Object.values(kinds)) await cpuOf(request, seconds);
for (let round = 0; round < rounds; round++) {
  // Each is first in every second round.
  const order = (round % 2 === 0 ? ['key', 'token'] : ['token', 'key']) as (keyof typeof kinds)[];
  for (const kind of order) figures[kind].push(await cpuOf(kinds[kind], seconds));
}
const rows: BenchRow[] = Object.entries(figures).map(([server, cpu_us]) => ({
  work: 'plain chat',
  server,
  isFloor: false,
  figures: { cpu_us },
}));
const ratios = figures.key.map((us, i) => (figures.token[i] ?? 0) / us);
console.log(`token ÷ key: ${median(ratios).toFixed(3)} (${ratios.map((one) => one.toFixed(3)).join(' ')})`);
admin.close();
await gateway.stop();
await upstream.stop();
console.log(summary(record({ command: 'tokens', options: { rounds, seconds }, rows })).join('\n'));
process.exit(0);
