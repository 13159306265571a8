import { type BenchRow, median } from './comparison.js';
import { cpuSeconds } from './cpu.js';
import {
  type ClientFormatName,
  clientFormats,
  providers,
  type Slug,
  unconverted,
  ways,
} from './exchanges.js';
import { startHeadgate } from './headgate.js';
import { clientRequest, drive } from './load.js';
import { pause, type Server } from './servers.js';

/** Where the upstream speaks each provider's format. Bedrock takes an API key here: a signature is no conversion. */
const stored = {
  openai: '/v1',
  responses: '/v1',
  anthropic: '/v1',
  gemini: '/v1beta',
  bedrock: '',
  cohere: '/v2',
} as const satisfies Record<Slug, string>;

function requestOf(server: Server, clientFormat: ClientFormatName, slug: Slug): Buffer {
  const { path, body } = clientFormats[clientFormat](false);
  const config = JSON.stringify({
    provider: `@${slug}`,
    ...(slug === 'bedrock' && { aws_region: 'us-east-1' }),
  });
  return clientRequest(path, { ...server.headers, 'x-gateway-config': config }, JSON.stringify(body));
}

/**
 * `npm run bench -- --conversion`: what a converted request costs with sockets, data worker and control process
 * together, against one in the same client format that is not converted. All ways take turns.
 */
export async function compareConversion(
  upstreamPort: number,
  { seconds, rounds }: { seconds: number; rounds: number },
): Promise<BenchRow[]> {
  const slugs = Object.keys(providers) as Slug[];
  const server = await startHeadgate({
    logBodies: false,
    providers: slugs.map((slug) => ({
      slug,
      row: providers[slug].row,
      url: `http://127.0.0.1:${upstreamPort}${stored[slug]}`,
    })),
  });
  const micros: number[][] = ways.map(() => []);
  let errors = 0;
  for (let round = 0; round < rounds; round++) {
    for (const [i, [clientFormat, slug]] of ways.entries()) {
      const load = {
        port: server.port,
        request: requestOf(server, clientFormat, slug),
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
  const table = ways.map(([clientFormat, slug], i) => ({
    way: `${clientFormat} → ${slug}`,
    cpu_us_per_request: Number(cost[i]!.toFixed(1)),
    times_unconverted: Number((cost[i]! / cost[unconverted(i)]!).toFixed(2)),
  }));
  console.table(table);
  await server.stop();
  return ways.map(([clientFormat, slug], i) => ({
    work: 'conversion',
    server: `${clientFormat} → ${slug}`,
    isFloor: false,
    figures: { cpu_us: micros[i]! },
  }));
}
