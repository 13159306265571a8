import { cpuSeconds } from './cpu.js';
import { type DoorName, doors, providers, type Slug, unconverted, ways } from './exchanges.js';
import { clientRequest, drive } from './load.js';
import { pause, type Server, startHeadgate } from './servers.js';

/** Ways whose providers need no address of their own kind (Bedrock's) and whose formats the upstream speaks. */
const stored = {
  openai: '/v1',
  responses: '/v1',
  anthropic: '/v1',
  gemini: '/v1beta',
} as const;
const isStored = (slug: Slug): slug is keyof typeof stored => Object.hasOwn(stored, slug);

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

function requestOf(server: Server, door: DoorName, slug: Slug): Buffer {
  const { path, body } = doors[door](false);
  const config = JSON.stringify({ provider: `@${slug}` });
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
  const slugs = (Object.keys(providers) as Slug[]).filter(isStored);
  const server = await startHeadgate(upstreamPort, {
    bodies: false,
    providers: slugs.map((slug) => ({ slug, row: providers[slug].row, path: stored[slug] })),
  });
  const micros: number[][] = ways.map(() => []);
  let errors = 0;
  for (let round = 0; round < rounds; round++) {
    for (const [i, [door, slug]] of ways.entries()) {
      if (!isStored(slug)) continue;
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
  console.table(table.filter((_, i) => micros[i]!.length > 0));
  await server.stop();
}
