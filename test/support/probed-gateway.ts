import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type SimulatedProvider, startSimulated } from '../../src/simulated/index.js';
import { builtProgram, type RunningGateway, startGateway } from './gateway.js';

/** A gateway whose data worker measures its turns of the event loop, by what Linux has counted for its thread. Linux only. */
export interface ProbedGateway {
  readonly gateway: RunningGateway;
  /** Behind the stored providers `openai`, `anthropic` and `gemini`. */
  readonly provider: SimulatedProvider;
  /** Milliseconds of the longest turn since this was called last. */
  longestTurn(): Promise<number>;
  close(): Promise<void>;
}

export async function startProbed(): Promise<ProbedGateway> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-stall-'));
  const probe = join(folder, 'probe');
  const preload = pathToFileURL(builtProgram('support/stall-probe'));
  const [gateway, provider] = await Promise.all([
    startGateway({ env: { NODE_OPTIONS: `--import ${preload}`, STALL_PROBE: probe } }),
    startSimulated(),
  ]);
  const { providers } = gateway.admin();
  const { url } = provider;
  await providers.create({ slug: 'openai', provider: 'openai', key: 'sk-sim', base_url: `${url}/v1` });
  await providers.create({ slug: 'anthropic', provider: 'anthropic', key: 'sk', base_url: `${url}/v1` });
  await providers.create({ slug: 'gemini', provider: 'google', key: 'AIza', base_url: `${url}/v1beta` });
  return {
    gateway,
    provider,
    longestTurn: () => longestTurn(probe),
    async close() {
      await gateway.stop();
      await provider.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Milliseconds of the longest turn of a data worker since this was asked last. `probe`: the socket of its stall-probe. */
function longestTurn(probe: string): Promise<number> {
  return new Promise((done, failed) => {
    let text = '';
    connect(probe)
      .on('data', (piece) => {
        text += piece.toString();
      })
      .on('end', () => done(Number(text)))
      .on('error', failed);
  });
}
