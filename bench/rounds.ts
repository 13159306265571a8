import { chatRequest } from './chat.js';
import { type BenchRow, median } from './comparison.js';
import { cpuSeconds } from './cpu.js';
import { drive, type Load } from './load.js';
import { jsonProxy, pause, type Server } from './servers.js';

/** A kind of work, and the servers that do it in turns. */
export interface Work {
  readonly name: string;
  readonly stream: boolean;
  readonly connections: number;
  readonly servers: readonly Server[];
}

export interface Rounds {
  readonly seconds: number;
  readonly rounds: number;
}

/** What each round adds a value to. */
const figureNames = ['cpu_us', 'requests_per_second', 'p50_ms', 'p99_ms', 'errors'] as const;
type Figures = Record<(typeof figureNames)[number], number[]>;

/** After each turn of the others it takes V8 so many seconds to be as fast as it was. */
const warmUpSeconds = 3;

async function measure(server: Server, { stream, connections }: Work, seconds: number, figures: Figures) {
  const load: Load = {
    port: server.port,
    request: chatRequest(server, stream),
    connections,
    seconds,
    chunked: stream,
  };
  await drive({ ...load, seconds: warmUpSeconds });
  const before = cpuSeconds(server.pids());
  const result = await drive(load);
  // What was put off until after the answers (ingestion) belongs to the requests too.
  await pause(600);
  const cpu = cpuSeconds(server.pids()) - before;
  figures.cpu_us.push((cpu / result.requests) * 1e6);
  figures.requests_per_second.push(result.requests / result.seconds);
  figures.p50_ms.push(result.p50);
  figures.p99_ms.push(result.p99);
  figures.errors.push(result.errors);
}

/** One line at a terminal, which the next one replaces. */
function showProgress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r${text.padEnd(80)}\r`);
}

/** Every server does the same work in turns, in so many rounds. */
export async function runRounds(work: Work, { seconds, rounds }: Rounds): Promise<BenchRow[]> {
  const all = work.servers.map((server) => {
    const figures: Figures = { cpu_us: [], requests_per_second: [], p50_ms: [], p99_ms: [], errors: [] };
    return { server, figures };
  });
  for (let round = 1; round <= rounds; round++) {
    for (const { server, figures } of all) {
      showProgress(`${work.name} ${round}/${rounds} ${server.name}`);
      await measure(server, work, seconds, figures);
    }
  }
  showProgress('');
  return all.map(({ server: { name, isFloor = false }, figures }) => ({
    work: work.name,
    server: name,
    isFloor,
    figures,
  }));
}

/** The server that passes nothing on: the provider itself. */
export const direct = 'the provider itself';

const times = (cpu: number, base: number): number | null =>
  base === 0 || cpu === 0 ? null : Number((cpu / base).toFixed(2));

/** The medians of one work's rows, beside those that they are measured by. */
export function table(rows: readonly BenchRow[]): object[] {
  const of = (server: string, figure: string): number =>
    median(rows.find((row) => row.server === server)?.figures[figure] ?? []);
  const directP99 = of(direct, 'p99_ms');
  return rows.map(({ server, figures }) => {
    const [cpu = 0, rps = 0, p50 = 0, p99 = 0] = figureNames.map((name) => median(figures[name] ?? []));
    return {
      server,
      cpu_us_per_request: Number(cpu.toFixed(1)),
      times_nginx: times(cpu, of('nginx', 'cpu_us')),
      times_json_proxy: times(cpu, of(jsonProxy, 'cpu_us')),
      requests_per_second: Math.round(rps),
      p50_ms: Number(p50.toFixed(2)),
      p99_ms: Number(p99.toFixed(2)),
      errors: (figures['errors'] ?? []).reduce((sum, count) => sum + count, 0),
      ...(directP99 > 0 && { p99_added_ms: Number((p99 - directP99).toFixed(2)) }),
    };
  });
}
