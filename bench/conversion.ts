import {
  type ClientFormatName,
  chunks,
  clientFormats,
  providers,
  type Slug,
  unconverted,
  ways,
} from './exchanges.js';
import { type BenchRequest, openInProcess } from './in-process.js';

/**
 * What conversion costs through the real chain, with no socket on either side: a request and a streamed chunk on each
 * way, against a request in the same client format that is not converted. `node dist/bench/conversion.js [requests [client format/provider,…]]`.
 * Aims: ≤ 1.6 × the CPU of a same-format request, ≤ 15 µs a streamed chunk.
 */
const requests = Number(process.argv[2] ?? 20_000);
const rounds = 5;

function requestOf(clientFormat: ClientFormatName, slug: Slug, stream: boolean): BenchRequest {
  const { path, query, body } = clientFormats[clientFormat](stream);
  return {
    path,
    query,
    body: Buffer.from(JSON.stringify(body)),
    config: JSON.stringify({ provider: `@${slug}` }),
  };
}

let streaming = false;
let asked: Slug = 'openai';
const rows = new Map(Object.entries(providers).map(([slug, { row }]) => [slug, row]));
const gateway = await openInProcess(rows, () => providers[asked][streaming ? 'streamed' : 'whole']);

const only = process.argv[3]?.split(',');

/** CPU microseconds of one, by way; the best of the rounds. */
async function measure(count: number): Promise<number[]> {
  const best = ways.map(() => Number.POSITIVE_INFINITY);
  // In turns, so that whatever else the machine does falls on all alike.
  for (let round = 0; round <= rounds; round++) {
    for (const [i, [clientFormat, slug]] of ways.entries()) {
      if (only?.includes(`${clientFormat}/${slug}`) === false) continue;
      asked = slug;
      const spent = await gateway.run(requestOf(clientFormat, slug, streaming), count);
      best[i] = Math.min(best[i]!, spent.user + spent.system);
    }
  }
  return best;
}

const whole = await measure(requests);
streaming = true;
const streamed = await measure(Math.max(32, requests / 200));
const table = ways.map(([clientFormat, slug], i) => ({
  way: `${clientFormat} → ${slug}`,
  request_us: Number(whole[i]!.toFixed(1)),
  times_unconverted: Number((whole[i]! / whole[unconverted(i)]!).toFixed(2)),
  times_chat_to_openai: Number((whole[i]! / whole[0]!).toFixed(2)),
  chunk_us: Number((streamed[i]! / chunks).toFixed(2)),
}));
console.table(table.filter(({ request_us }) => Number.isFinite(request_us)));
gateway.close();
process.exit(0);
