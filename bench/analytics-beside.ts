import { fork } from 'node:child_process';
import { chatBody } from './chat.js';
import { startHeadgate } from './headgate.js';
import { clientRequest } from './load.js';
import { drivePaced } from './paced.js';
import { percentile } from './percentile.js';
import { ended, endsWithThis, pause, startUpstream } from './servers.js';
import { storedProviders } from './variants.js';

const rate = 200;
const seconds = 5;
const rounds = 3;

/**
 * Requests through a gateway, alone and beside a process that asks analytics without a pause, in turns. `program`, `given`: of that
 * process, which runs until it is killed; it says when it begins.
 */
export async function measureBeside(program: string, given: readonly string[]): Promise<void> {
  const upstream = await startUpstream();
  const gateway = await startHeadgate({
    providers: storedProviders({ port: upstream.port, tlsPort: null }),
  });
  const load = {
    port: gateway.port,
    request: clientRequest('/v1/chat/completions', gateway.headers, chatBody(false)),
    rate,
    seconds,
  };
  const p99 = async (): Promise<number> => (await drivePaced(load)).p99;
  try {
    await p99();
    const [alone, beside]: [number[], number[]] = [[], []];
    for (let round = 0; round < rounds; round++) {
      alone.push(await p99());
      const child = endsWithThis(fork(program, given, { env: { ...process.env, BENCH_ASKS: '1' } }));
      await new Promise((begins) => child.once('message', begins));
      await pause(500);
      beside.push(await p99());
      await ended(child, 'SIGKILL');
    }
    const [one, other] = [percentile(alone, 0.5), percentile(beside, 0.5)];
    console.log(
      `requests through the gateway, ${rate} a second: p99 ${one.toFixed(1)} ms alone, ${other.toFixed(1)} ms beside analytics, ${(other / one).toFixed(2)} ×`,
    );
  } finally {
    await gateway.stop();
    await upstream.stop();
  }
}
