import { cpuSeconds } from './cpu.js';
import { type DoorName, doors, providers, type Slug, unconverted, ways } from './exchanges.js';
import { clientRequest, drive } from './load.js';
import { pause, type Server, startHeadgate } from './servers.js';

/** Where the upstream speaks each provider's format. Bedrock takes an API key here: a signature is no conversion. */
const stored = {
  openai: '/v1',
  responses: '/v1',
  anthropic: '/v1',
  gemini: '/v1beta',
  bedrock: '',
  cohere: '/v2',
} as const satisfies Record<Slug, string>;

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

function requestOf(server: Server, door: DoorName, slug: Slug): Buffer {
  const { path, body } = doors[door](false);
  const config = JSON.stringify({
    provider: `@${slug}`,
    ...(slug === 'bedrock' && { aws_region: 'us-east-1' }),
  });
  return clientRequest(path, { ...server.headers, 'x-gateway-config': config }, JSON.stringify(body));
}

/**
 * `npm run bench -- --conversion`: what a converted request costs with sockets, data worker and control process
 * together, against one that the same door does not convert. All ways take turns.
 */
export async function compareConversion(
  upstreamPort: number,
  { seconds, rounds }: { seconds: number; rounds: number },
): Promise<void> {
  const slugs = Object.keys(providers) as Slug[];
  const server = await startHeadgate(upstreamPort, {
    bodies: false,
    providers: slugs.map((slug) => ({ slug, row: providers[slug].row, path: stored[slug] })),
  });
  const micros: number[][] = ways.map(() => []);
  let errors = 0;
  for (let round = 0; round < rounds; round++) {
    for (const [i, [door, slug]] of ways.entries()) {
      const load = {
        port: server.port,
        request: requestOf(server, door, slug),
        connections: 32,
        chunked: false,
      };
      await drive({ ...load, seconds: Math.min(0.5, seconds) });
      const before = cpuSeconds(server.pids());
      const result = await drive({ ...load, seconds });
      // What was put off until after the answers (ingestion) belongs to the requests too.
      await pause(600);
      micros[i]?.push(((cpuSeconds(server.pids()) - before) / result.requests) * 1e6);
      errors += result.errors;
    }
  }
  const cost = micros.map(median);
  console.log(`\nrequests with sockets, ${rounds} rounds of ${seconds} s, ${errors} errors`);
  const table = ways.map(([door, slug], i) => ({
    way: `${door} → ${slug}`,
    cpu_us_per_request: Number(cost[i]!.toFixed(1)),
    times_unconverted: Number((cost[i]! / cost[unconverted(i)]!).toFixed(2)),
  }));
  console.table(table);
  await server.stop();
}
